#include <ortcore/device/memory_info.h>

#include <string.h>

const ortc_memory_info memory_info_cpu = {.name = "Cpu", .device_type = ORTC_DEVICE_CPU};

enum { NVIDIA = MEMORY_VENDOR_NVIDIA, MICROSOFT = 0x1414, AMD = 0x1002, INTEL = 0x8086, QUALCOMM = 0x5143 };

/* The allocator names that onnxruntime knows, and the memory that each means. */
static const struct known_memory {
  const char *name, *reads_as;                             /* reads_as NULL: the same */
  const char *device;
  ortc_device_type type;
  ortc_device_mem_type mem_type;
  uint32_t vendor;
} known[] = {
  {"Cpu", NULL, "cpu", ORTC_DEVICE_CPU, ORTC_DEVICE_MEM_DEFAULT, 0},
  {"Cuda", NULL, "cuda", ORTC_DEVICE_GPU, ORTC_DEVICE_MEM_DEFAULT, NVIDIA},
  {"CudaPinned", NULL, "cuda", ORTC_DEVICE_GPU, ORTC_DEVICE_MEM_HOST_ACCESSIBLE, NVIDIA},
  {"Hip", NULL, "gpu", ORTC_DEVICE_GPU, ORTC_DEVICE_MEM_DEFAULT, AMD},
  {"HipPinned", NULL, "gpu", ORTC_DEVICE_GPU, ORTC_DEVICE_MEM_HOST_ACCESSIBLE, AMD},
  {"DML", NULL, "dml", ORTC_DEVICE_GPU, ORTC_DEVICE_MEM_DEFAULT, MICROSOFT},
  {"OpenVINO_GPU", NULL, "gpu", ORTC_DEVICE_GPU, ORTC_DEVICE_MEM_DEFAULT, INTEL},
  {"OpenVINO_RT_NPU", NULL, "npu", ORTC_DEVICE_NPU, ORTC_DEVICE_MEM_DEFAULT, INTEL},
  {"QnnHtpShared", NULL, "npu", ORTC_DEVICE_NPU, ORTC_DEVICE_MEM_HOST_ACCESSIBLE, QUALCOMM},
  {"WebGPU_Buffer", "WebGPU_Buf", "gpu", ORTC_DEVICE_GPU, ORTC_DEVICE_MEM_DEFAULT, 0},
  {"WebGPU_Buf", NULL, "gpu", ORTC_DEVICE_GPU, ORTC_DEVICE_MEM_DEFAULT, 0},
  {"WebNN_Tensor", "WebNN_Ten", "gpu", ORTC_DEVICE_GPU, ORTC_DEVICE_MEM_DEFAULT, 0},
};

status memory_info_init(ortc_memory_info *info, const char *name, ortc_allocator_type allocator_type, int32_t device_id, ortc_mem_type mem_type) {
  *info = (ortc_memory_info){0};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    const struct known_memory *k = &known[i];
    if (strcmp(k->name, name) != 0) continue;
    *info = (ortc_memory_info){.device_type = k->type, .device_mem_type = k->mem_type, .mem_type = mem_type, .allocator_type = allocator_type,
                               .device_id = k->type == ORTC_DEVICE_CPU ? 0 : device_id, .vendor_id = k->vendor};
    strcpy(info->name, k->reads_as ? k->reads_as : k->name);
    return OK;
  }
  return ERROR(INVALID_ARGUMENT, "memory info: there is no allocator named '%.64s'. Names are case-sensitive: Cpu, Cuda, CudaPinned, Hip, HipPinned, DML, "
               "OpenVINO_GPU, OpenVINO_RT_NPU, QnnHtpShared, WebGPU_Buffer, WebNN_Tensor. Fill an ortc_memory_info by hand for any other memory.", name);
}

bool memory_info_same_device(const ortc_memory_info *a, const ortc_memory_info *b) {
  if (a->device_type == ORTC_DEVICE_CPU && b->device_type == ORTC_DEVICE_CPU) return true;
  return a->device_type == b->device_type && a->device_mem_type == b->device_mem_type && a->device_id == b->device_id && a->vendor_id == b->vendor_id;
}

bool memory_info_equal(const ortc_memory_info *a, const ortc_memory_info *b) {
  return strncmp(a->name, b->name, sizeof a->name) == 0 && a->device_type == b->device_type && a->device_mem_type == b->device_mem_type &&
         a->mem_type == b->mem_type && a->allocator_type == b->allocator_type && a->device_id == b->device_id && a->vendor_id == b->vendor_id &&
         a->alignment == b->alignment;
}

const char *memory_info_device_name(const ortc_memory_info *info) {
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    if (known[i].type == info->device_type && known[i].vendor == info->vendor_id) return known[i].device;
  }
  switch (info->device_type) {
    case ORTC_DEVICE_CPU: return "cpu";
    case ORTC_DEVICE_GPU: return "gpu";
    case ORTC_DEVICE_NPU: return "npu";
    case ORTC_DEVICE_FPGA: return "fpga";
  }
  return "unknown";
}
