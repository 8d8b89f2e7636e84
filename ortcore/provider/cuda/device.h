/* CUDA devices behind the vtable of device/device.h: one `device` a GPU. */
#ifndef ORTCORE_PROVIDER_CUDA_DEVICE_H
#define ORTCORE_PROVIDER_CUDA_DEVICE_H

#include <ortcore/provider/cuda/plugin.h>

/* GPU `index` as CUDA numbers them, made on first use; NULL without memory or out of range. Thread-safe. */
const device *cuda_device_at(int index);

#endif
