/* What is used of the interfaces of cuBLASLt and cuDNN: types, numbers and functions, for those who call them (libraries.h) and for the stand-ins
 * of the emulated GPU. Their own headers are not needed; comments give their names. */
#ifndef ORTCORE_PROVIDER_CUDA_LIBRARY_TABLES_H
#define ORTCORE_PROVIDER_CUDA_LIBRARY_TABLES_H

#include <library_types.h>
#include <stddef.h>
#include <stdint.h>

/* ---- cuBLASLt ---- */

typedef int cublas_status;                                 /* cublasStatus_t; 0 is success */
typedef struct cublasLtContext *cublas_handle;             /* cublasLtHandle_t: any thread, any stream of the device it was made on */
typedef struct cublas_product_data *cublas_product;             /* cublasLtMatmulDesc_t */
typedef struct cublas_layout_data *cublas_layout;               /* cublasLtMatrixLayout_t */
typedef struct cublas_preference_data *cublas_preference;       /* cublasLtMatmulPreference_t */
typedef struct cublas_algorithm { uint64_t data[8]; } cublas_algorithm;   /* cublasLtMatmulAlgo_t */
typedef struct cublas_choice {                             /* cublasLtMatmulHeuristicResult_t */
  cublas_algorithm algorithm;
  size_t workspace_bytes;
  cublas_status status;
  float waves;
  int reserved[4];
} cublas_choice;

enum { CUBLAS_OK = 0, CUBLAS_NOT_INITIALIZED = 1, CUBLAS_ALLOC_FAILED = 3, CUBLAS_INVALID_VALUE = 7, CUBLAS_ARCH_MISMATCH = 8, CUBLAS_EXECUTION_FAILED = 13,
       CUBLAS_INTERNAL_ERROR = 14, CUBLAS_NOT_SUPPORTED = 15 };
enum { CUBLAS_COMPUTE_F16 = 64, CUBLAS_COMPUTE_F32 = 68, CUBLAS_COMPUTE_F32_PEDANTIC = 69, CUBLAS_COMPUTE_F64 = 70, CUBLAS_COMPUTE_I32 = 72,
       CUBLAS_COMPUTE_F32_TF32 = 77 };
enum { CUBLAS_PLAIN = 0, CUBLAS_TRANSPOSED = 1 };          /* cublasOperation_t, int32 */
enum { CUBLAS_COLUMN_MAJOR = 0, CUBLAS_ROW_MAJOR = 1 };    /* cublasLtOrder_t, int32 */
enum { CUBLAS_EPILOGUE_NONE = 1, CUBLAS_EPILOGUE_RELU = 2, CUBLAS_EPILOGUE_BIAS = 4, CUBLAS_EPILOGUE_RELU_BIAS = 6, CUBLAS_EPILOGUE_GELU = 32,
       CUBLAS_EPILOGUE_GELU_BIAS = 36 };                   /* cublasLtEpilogue_t, uint32; the bias has one element a row of D; GELU is the tanh form */
enum { CUBLAS_PRODUCT_TRANS_A = 3, CUBLAS_PRODUCT_TRANS_B = 4, CUBLAS_PRODUCT_EPILOGUE = 7, CUBLAS_PRODUCT_BIAS_POINTER = 8,
       CUBLAS_PRODUCT_BIAS_BATCH_STRIDE = 10, CUBLAS_PRODUCT_BIAS_TYPE = 26 };                /* cublasLtMatmulDescAttributes_t */
enum { CUBLAS_LAYOUT_ORDER = 1, CUBLAS_LAYOUT_BATCH_COUNT = 5 /* int32 */, CUBLAS_LAYOUT_BATCH_STRIDE = 6 /* int64, elements */ };
enum { CUBLAS_PREFER_WORKSPACE_BYTES = 1 /* uint64 */, CUBLAS_PREFER_ALIGNMENT_A = 5 /* uint32, bytes; default 256 */, CUBLAS_PREFER_ALIGNMENT_B = 6,
       CUBLAS_PREFER_ALIGNMENT_C = 7, CUBLAS_PREFER_ALIGNMENT_D = 8 };

/* X(result, name here, name there, parameters) */
#define CUBLAS_FUNCTIONS(X) \
  X(size_t, version, cublasLtGetVersion, (void)) \
  X(const char *, status_name, cublasLtGetStatusName, (cublas_status status)) \
  X(cublas_status, create, cublasLtCreate, (cublas_handle *out)) \
  X(cublas_status, destroy, cublasLtDestroy, (cublas_handle handle)) \
  X(cublas_status, product_create, cublasLtMatmulDescCreate, (cublas_product *out, int compute, cudaDataType scale_type)) \
  X(cublas_status, product_set, cublasLtMatmulDescSetAttribute, (cublas_product product, int attribute, const void *value, size_t bytes)) \
  X(cublas_status, product_destroy, cublasLtMatmulDescDestroy, (cublas_product product)) \
  X(cublas_status, layout_create, cublasLtMatrixLayoutCreate, (cublas_layout *out, cudaDataType type, uint64_t rows, uint64_t columns, int64_t step)) \
  X(cublas_status, layout_set, cublasLtMatrixLayoutSetAttribute, (cublas_layout layout, int attribute, const void *value, size_t bytes)) \
  X(cublas_status, layout_destroy, cublasLtMatrixLayoutDestroy, (cublas_layout layout)) \
  X(cublas_status, preference_create, cublasLtMatmulPreferenceCreate, (cublas_preference *out)) \
  X(cublas_status, preference_set, cublasLtMatmulPreferenceSetAttribute, (cublas_preference preference, int attribute, const void *value, size_t bytes)) \
  X(cublas_status, preference_destroy, cublasLtMatmulPreferenceDestroy, (cublas_preference preference)) \
  X(cublas_status, choose, cublasLtMatmulAlgoGetHeuristic, (cublas_handle handle, cublas_product product, cublas_layout a, cublas_layout b, \
    cublas_layout c, cublas_layout d, cublas_preference preference, int wanted, cublas_choice *out_choices, int *out_count)) \
  X(cublas_status, multiply, cublasLtMatmul, (cublas_handle handle, cublas_product product, const void *alpha, const void *a, cublas_layout a_layout, \
    const void *b, cublas_layout b_layout, const void *beta, const void *c, cublas_layout c_layout, void *d, cublas_layout d_layout, \
    const cublas_algorithm *algorithm, void *workspace, size_t workspace_bytes, void *stream))

typedef struct cublas_functions {
#define X(result, name, symbol, parameters) result(*name) parameters;
  CUBLAS_FUNCTIONS(X)
#undef X
} cublas_functions;

/* ---- cuDNN ---- */

typedef int cudnn_status;                                  /* cudnnStatus_t; 0 is success */
typedef struct cudnnContext *cudnn_handle;                 /* one thread at a time; works on the stream that it was given */
typedef struct cudnnTensorStruct *cudnn_tensor;
typedef struct cudnnFilterStruct *cudnn_filter;
typedef struct cudnnConvolutionStruct *cudnn_convolution;
typedef struct cudnnActivationStruct *cudnn_activation;
typedef struct cudnn_choice {                              /* cudnnConvolutionFwdAlgoPerf_t */
  int algorithm;
  cudnn_status status;
  float milliseconds;
  size_t workspace_bytes;
  int determinism, math;
  int reserved[3];
} cudnn_choice;

enum { CUDNN_OK = 0 };
enum { CUDNN_F32 = 0, CUDNN_F64 = 1, CUDNN_F16 = 2, CUDNN_BF16 = 9 };                         /* cudnnDataType_t */
enum { CUDNN_NCHW = 0, CUDNN_NHWC = 1 };                                                      /* cudnnTensorFormat_t */
enum { CUDNN_CROSS_CORRELATION = 1 };                                                         /* cudnnConvolutionMode_t: what ONNX calls Conv */
enum { CUDNN_MATH_DEFAULT = 0, CUDNN_MATH_TENSOR_OP = 1, CUDNN_MATH_FMA = 3 };                /* cudnnMathType_t; the default allows TF32, FMA does not */
enum { CUDNN_ACTIVATION_RELU = 1, CUDNN_ACTIVATION_IDENTITY = 5, CUDNN_PROPAGATE_NAN = 1 };
enum { CUDNN_IMPLICIT_GEMM = 0, CUDNN_IMPLICIT_PRECOMP_GEMM = 1 };                            /* cudnnConvolutionFwdAlgo_t; identity wants the second */

/* X(result, name here, name there, parameters) */
#define CUDNN_FUNCTIONS(X) \
  X(size_t, version, cudnnGetVersion, (void)) \
  X(const char *, status_name, cudnnGetErrorString, (cudnn_status status)) \
  X(cudnn_status, create, cudnnCreate, (cudnn_handle *out)) \
  X(cudnn_status, destroy, cudnnDestroy, (cudnn_handle handle)) \
  X(cudnn_status, set_stream, cudnnSetStream, (cudnn_handle handle, void *stream)) \
  X(cudnn_status, tensor_create, cudnnCreateTensorDescriptor, (cudnn_tensor *out)) \
  X(cudnn_status, tensor_set, cudnnSetTensorNdDescriptor, (cudnn_tensor tensor, int type, int rank, const int *dims, const int *strides)) \
  X(cudnn_status, tensor_destroy, cudnnDestroyTensorDescriptor, (cudnn_tensor tensor)) \
  X(cudnn_status, filter_create, cudnnCreateFilterDescriptor, (cudnn_filter *out)) \
  X(cudnn_status, filter_set, cudnnSetFilterNdDescriptor, (cudnn_filter filter, int type, int format, int rank, const int *dims)) \
  X(cudnn_status, filter_destroy, cudnnDestroyFilterDescriptor, (cudnn_filter filter)) \
  X(cudnn_status, convolution_create, cudnnCreateConvolutionDescriptor, (cudnn_convolution *out)) \
  X(cudnn_status, convolution_set, cudnnSetConvolutionNdDescriptor, (cudnn_convolution convolution, int axes, const int *pads, const int *strides, \
    const int *dilations, int mode, int compute_type)) \
  X(cudnn_status, convolution_set_groups, cudnnSetConvolutionGroupCount, (cudnn_convolution convolution, int groups)) \
  X(cudnn_status, convolution_set_math, cudnnSetConvolutionMathType, (cudnn_convolution convolution, int math)) \
  X(cudnn_status, convolution_destroy, cudnnDestroyConvolutionDescriptor, (cudnn_convolution convolution)) \
  X(cudnn_status, activation_create, cudnnCreateActivationDescriptor, (cudnn_activation *out)) \
  X(cudnn_status, activation_set, cudnnSetActivationDescriptor, (cudnn_activation activation, int mode, int nan, double coefficient)) \
  X(cudnn_status, activation_destroy, cudnnDestroyActivationDescriptor, (cudnn_activation activation)) \
  X(cudnn_status, choose, cudnnGetConvolutionForwardAlgorithm_v7, (cudnn_handle handle, cudnn_tensor x, cudnn_filter w, cudnn_convolution convolution, \
    cudnn_tensor y, int wanted, int *out_count, cudnn_choice *out_choices)) \
  X(cudnn_status, measure, cudnnFindConvolutionForwardAlgorithmEx, (cudnn_handle handle, cudnn_tensor x_tensor, const void *x, cudnn_filter w_filter, \
    const void *w, cudnn_convolution convolution, cudnn_tensor y_tensor, void *y, int wanted, int *out_count, cudnn_choice *out_choices, \
    void *workspace, size_t workspace_bytes)) \
  X(cudnn_status, workspace_bytes, cudnnGetConvolutionForwardWorkspaceSize, (cudnn_handle handle, cudnn_tensor x, cudnn_filter w, \
    cudnn_convolution convolution, cudnn_tensor y, int algorithm, size_t *out_bytes)) \
  X(cudnn_status, convolve, cudnnConvolutionForward, (cudnn_handle handle, const void *alpha, cudnn_tensor x_tensor, const void *x, cudnn_filter w_filter, \
    const void *w, cudnn_convolution convolution, int algorithm, void *workspace, size_t workspace_bytes, const void *beta, cudnn_tensor y_tensor, void *y)) \
  X(cudnn_status, convolve_bias_activate, cudnnConvolutionBiasActivationForward, (cudnn_handle handle, const void *alpha, cudnn_tensor x_tensor, \
    const void *x, cudnn_filter w_filter, const void *w, cudnn_convolution convolution, int algorithm, void *workspace, size_t workspace_bytes, \
    const void *alpha_z, cudnn_tensor z_tensor, const void *z, cudnn_tensor bias_tensor, const void *bias, cudnn_activation activation, \
    cudnn_tensor y_tensor, void *y))

typedef struct cudnn_functions {
#define X(result, name, symbol, parameters) result(*name) parameters;
  CUDNN_FUNCTIONS(X)
#undef X
} cudnn_functions;

#endif
