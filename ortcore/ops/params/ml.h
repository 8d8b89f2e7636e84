/* What operators of ai.onnx.ml may be told to do, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_ML_H
#define ORTCORE_OPS_PARAMS_ML_H

typedef enum post_transform { POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT } post_transform;

typedef enum tree_mode { TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ, TREE_MEMBER, TREE_LEAF } tree_mode;
typedef enum tree_aggregate { TREE_SUM, TREE_AVERAGE, TREE_MIN, TREE_MAX } tree_aggregate;

typedef enum svm_kernel { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID } svm_kernel;

#endif
