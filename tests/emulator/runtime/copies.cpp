/* Copies and fills: directions, shapes, and who waits for whom. */
#include "test.h"

#include <numeric>

constexpr int kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(float);

static std::vector<float> numbers() {
  std::vector<float> values(kCount);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

static void all_directions() {
  std::vector<float> in = numbers(), out(kCount);
  float *x = device_floats(kCount, 0.0f), *y = device_floats(kCount, 0.0f);
  ortcore_emulator_clear();
  CHECK_OK(cudaMemcpy(x, in.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK_OK(cudaMemcpy(y, x, kBytes, cudaMemcpyDeviceToDevice));
  CHECK_OK(cudaMemcpy(out.data(), y, kBytes, cudaMemcpyDeviceToHost));
  CHECK(in == out);
  CHECK_OK(cudaMemcpy(out.data(), in.data(), 4, cudaMemcpyDefault));
  CHECK_OK(cudaMemcpy(x, out.data(), 4, cudaMemcpyDefault));
  CHECK(ortcore_emulator_counter("copies_host_to_device") == 2 && ortcore_emulator_counter("bytes_host_to_device") == kBytes + 4);
  CHECK(ortcore_emulator_counter("copies_device_to_device") == 1 && ortcore_emulator_counter("bytes_device_to_device") == kBytes);
  CHECK(ortcore_emulator_counter("copies_device_to_host") == 1 && ortcore_emulator_counter("copies_host_to_host") == 1);
  CHECK_OK(cudaFree(x));
  CHECK_OK(cudaFree(y));
}

static void wrong_directions() {
  std::vector<float> host(kCount);
  float *x = device_floats(kCount, 0.0f);
  CHECK_ERROR(cudaMemcpy(host.data(), x, kBytes, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CHECK(found("copy", {"cudaMemcpy with cudaMemcpyHostToDevice", "destination is pageable host memory", "source is device memory"}));
  CHECK_ERROR(cudaMemcpy(x, host.data(), kBytes, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  CHECK_ERROR(cudaMemcpyAsync(x, x, kBytes, cudaMemcpyDeviceToHost, nullptr), cudaErrorInvalidValue);
  CHECK_ERROR(cudaMemcpy(x, host.data(), kBytes, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
  CHECK_ERROR(cudaMemset(host.data(), 0, kBytes), cudaErrorInvalidValue);
  CHECK(count_found("copy") == 4);
  CHECK_OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  CHECK_ERROR(cudaMemcpy(nullptr, x, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  CHECK_OK(cudaFree(x));
}

static void copies_stay_in_their_allocation() {
  std::vector<float> host(kCount + 1);
  float *x = device_floats(kCount, 0.0f);
  CHECK_ERROR(cudaMemcpy(host.data(), x, kBytes + 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  CHECK(found("copy", {"cudaMemcpy reads 4100 bytes from byte 0 of allocation #", "4 bytes past its end"}));
  CHECK_ERROR(cudaMemset(x + kCount - 1, 0, 8), cudaErrorInvalidValue);
  CHECK_ERROR(cudaMemcpy(host.data(), x + (1 << 20), 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  CHECK(found("copy", {"where no device memory is allocated"}));
  CHECK(count_found("copy") == 3);
  CHECK_OK(cudaFree(x));
}

/* Staged when the call returns: the source may be used again at once. */
static void pageable_sources_are_read_at_once() {
  cudaStream_t s = non_blocking_stream();
  std::vector<float> in = numbers();
  float *x = device_floats(kCount, 0.0f);
  CHECK_OK(cudaMemcpyAsync(x, in.data(), kBytes, cudaMemcpyHostToDevice, s));
  in.assign(kCount, -1.0f);
  CHECK(host_floats(x, kCount, s) == numbers());
  CHECK_OK(cudaFree(x));
}

static void pageable_destinations_are_written_at_once() {
  cudaStream_t s = non_blocking_stream();
  std::vector<float> out(kCount);
  float *x = device_floats(kCount, 5.0f);
  CHECK_OK(cudaMemcpyAsync(out.data(), x, kBytes, cudaMemcpyDeviceToHost, s));
  CHECK(out[kCount - 1] == 5.0f);
  CHECK_OK(cudaFree(x));
}

/* cudaMemcpy from pageable memory returns when the data is staged: streams that ignore the default stream may be ahead of it. */
static void staged_copies_are_not_done() {
  cudaStream_t s = non_blocking_stream();
  std::vector<float> in = numbers();
  float *x = device_floats(kCount, 5.0f);
  CHECK_OK(cudaMemcpy(x, in.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(host_floats(x, kCount, s)[1] == 5.0f);
  CHECK(host_floats(x, kCount, nullptr) == in);
  void *pinned;
  CHECK_OK(cudaMallocHost(&pinned, kBytes));
  CHECK_OK(cudaMemset(x, 0, kBytes));
  CHECK_OK(cudaMemcpy(pinned, x, kBytes, cudaMemcpyDeviceToHost));
  CHECK(static_cast<float *>(pinned)[7] == 0.0f);
  static_cast<float *>(pinned)[7] = 8.0f;
  CHECK_OK(cudaMemcpy(x, pinned, kBytes, cudaMemcpyHostToDevice));
  CHECK(host_floats(x, kCount, s)[7] == 8.0f);              /* pinned memory is read by the device itself */
  CHECK_OK(cudaFreeHost(pinned));
  CHECK_OK(cudaFree(x));
}

static void fills() {
  float *x = device_floats(kCount, 5.0f);
  void *pinned;
  CHECK_OK(cudaMemset(x, 0, kBytes / 2));
  CHECK(ortcore_emulator_counter("pending") == 1);          /* the host does not wait for a device's memory */
  std::vector<float> values = host_floats(x, kCount, nullptr);
  CHECK(values[kCount / 2 - 1] == 0.0f && values[kCount / 2] == 5.0f);
  CHECK_OK(cudaMallocHost(&pinned, kBytes));
  CHECK_OK(cudaMemset(pinned, 0, kBytes));
  CHECK(static_cast<float *>(pinned)[5] == 0.0f);
  CHECK_OK(cudaFreeHost(pinned));
  CHECK_OK(cudaFree(x));
}

static void two_dimensions() {
  void *p;
  size_t pitch;
  std::vector<float> in = numbers(), out(kCount, -1.0f);
  CHECK_OK(cudaMallocPitch(&p, &pitch, 10 * sizeof(float), 8));
  CHECK(pitch >= 40 && pitch % 256 == 0);
  CHECK_OK(cudaMemcpy2D(p, pitch, in.data(), 40, 40, 8, cudaMemcpyHostToDevice));
  CHECK_OK(cudaMemset2D(static_cast<char *>(p) + pitch, pitch, 0, 40, 1));
  CHECK_OK(cudaMemcpy2DAsync(out.data(), 64, p, pitch, 40, 8, cudaMemcpyDeviceToHost, nullptr));
  CHECK(out[0] == 0.0f && out[9] == 9.0f && out[10] == -1.0f && out[16] == 0.0f && out[16 * 7 + 3] == 73.0f);
  CHECK_ERROR(cudaMemcpy2D(p, pitch, in.data(), 16, 40, 8, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
  CHECK_ERROR(cudaMemcpy2D(p, pitch, in.data(), 40, 40, 9, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CHECK(count_found("copy") == 1);
  CHECK_OK(cudaFree(p));
}

static void three_dimensions() {
  cudaPitchedPtr volume;
  std::vector<float> in = numbers(), out(kCount);
  CHECK_OK(cudaMalloc3D(&volume, cudaExtent{16, 4, 3}));
  cudaMemcpy3DParms p = {};
  p.extent = {16, 4, 3};
  p.srcPtr = {in.data(), 16, 16, 4};
  p.dstPtr = volume;
  p.kind = cudaMemcpyHostToDevice;
  CHECK_OK(cudaMemcpy3D(&p));
  p.srcPtr = volume;
  p.dstPtr = {out.data(), 16, 16, 4};
  p.kind = cudaMemcpyDeviceToHost;
  CHECK_OK(cudaMemcpy3DAsync(&p, nullptr));
  CHECK(std::vector<float>(out.begin(), out.begin() + 48) == std::vector<float>(in.begin(), in.begin() + 48));
  CHECK_OK(cudaFree(volume.ptr));
}

static void between_devices() {
  set("devices", 2);
  float *x = device_floats(kCount, 6.0f);
  CHECK_OK(cudaSetDevice(1));
  float *y = device_floats(kCount, 0.0f);
  cudaStream_t s = non_blocking_stream();
  CHECK_OK(cudaMemcpyPeerAsync(y, 1, x, 0, kBytes, s));
  CHECK(host_floats(y, kCount, s)[17] == 6.0f);
  CHECK_ERROR(cudaMemcpyPeer(y, 2, x, 0, kBytes), cudaErrorInvalidDevice);
  cudaPointerAttributes is;
  CHECK_OK(cudaPointerGetAttributes(&is, y));
  CHECK(is.type == cudaMemoryTypeDevice && is.device == 1);
  CHECK_OK(cudaFree(x));
  CHECK_OK(cudaFree(y));
  CHECK_OK(cudaSetDevice(0));
}

int main() {
  return run_tests({
    {"all directions", all_directions},
    {"wrong directions", wrong_directions},
    {"copies stay in their allocation", copies_stay_in_their_allocation},
    {"pageable sources are read at once", pageable_sources_are_read_at_once},
    {"pageable destinations are written at once", pageable_destinations_are_written_at_once},
    {"staged copies are not done", staged_copies_are_not_done},
    {"fills", fills},
    {"two dimensions", two_dimensions},
    {"three dimensions", three_dimensions},
    {"between devices", between_devices},
  });
}
