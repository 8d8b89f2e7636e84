"""DFT, STFT, the windows and MelWeightMatrix."""
import numpy as np

from onnx import TensorProto

from ..case import FLOATS, case, data, f32, f64, i32, i64, ints


def dft(x, length=None, axis=1, onesided=0, inverse=0):
    """x has the real and imaginary parts last, or the real part alone."""
    z = x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    n = None if length is None else int(length)
    if onesided and inverse:
        return np.fft.irfft(z, n, axis)[..., None]
    y = (np.fft.ifft if inverse else np.fft.fft)(z, n, axis)
    if onesided:
        y = np.take(y, range(y.shape[axis] // 2 + 1), axis)
    return np.stack([y.real, y.imag], -1)


def stft(x, step, window=None, length=None, onesided=1):
    n = x.shape[1] if window is None and length is None else len(window) if length is None else int(length)
    frames = [x[:, at:at + n] * (1 if window is None else window[:, None]) for at in range(0, x.shape[1] - n + 1, int(step))]
    return np.stack([dft(f, onesided=onesided) for f in frames], 1)


def window(size, a, periodic=1):
    w = 2 * np.pi * np.arange(size) / (size if periodic else size - 1)
    return a[0] - a[1] * np.cos(w) + a[2] * np.cos(2 * w)


def mel_weights(bands, length, rate, low, high):
    bins, low, high = length // 2 + 1, 2595 * np.log10(1 + low / 700), 2595 * np.log10(1 + high / 700)
    mel = low + np.arange(bands + 2) * (high - low) / (bands + 2)
    edges = np.floor((length + 1) * 700 * (10 ** (mel / 2595) - 1) / rate).astype(int)
    y = np.zeros((bins, bands))
    for band in range(bands):
        first, top, last = edges[band:band + 3]
        for j in range(first, top + 1):
            y[j, band] = 1 if first == top else (j - first) / (top - first)
        for j in range(top, last):
            y[j, band] = (last - j) / (last - top)
    return y


SCALARS = {"rtol": 1e-5, "atol": 2e-5}
WINDOWS = {"HannWindow": (0.5, 0.5, 0), "HammingWindow": (25 / 46, 21 / 46, 0), "BlackmanWindow": (0.42, 0.5, 0.08)}
MEL = [np.array(n, i64) for n in (8, 64, 8000)] + [np.array(hertz, f32) for hertz in (100, 3900)]
CASES = [
    *[case("DFT", opset, [data((2, 8, parts), t)], dft, attrs={"axis": 1} if opset < 20 else {}, rtol=1e-5 if t.itemsize > 2 else 0.05, atol=2e-5 if t.itemsize > 2 else 0.2)
      for opset in (17, 20) for parts in (1, 2) for t in FLOATS],
    *[case("DFT", 20, [data((2, n, 2), f64)], lambda x, i=i: dft(x, inverse=i), attrs={"inverse": i}, id=f"{n} numbers, inverse {i}", rtol=1e-10, atol=1e-10,
           peer=not i or "divides by the length in float")
      for n in (1, 2, 3, 7, 12, 97, 128, 360) for i in (0, 1)],
    *[case("DFT", 20, [data((2, 6, 1)), np.array(n, t)], lambda x, n: dft(x, n, onesided=1), attrs={"onesided": 1}, id=f"half a spectrum of {n}, {np.dtype(t).name}", **SCALARS)
      for n, t in ((4, i64), (6, i64), (9, i32))],
    case("DFT", 20, [data((2, 9, 2)), np.array(16, i64)], dft, id="zeros behind", **SCALARS),
    *[case("DFT", 20, [data((3, 4, 5, 2)), None, np.array(axis, i64)], lambda x, _, a: dft(x, axis=int(a) % 4), id=f"axis {axis}", **SCALARS) for axis in (0, 1, 2, -2, -3)],
    case("DFT", 17, [data((3, 4, 5, 1))], lambda x: dft(x, axis=2), attrs={"axis": 2}, id="axis 2", **SCALARS),
    case("DFT", 20, [data((2, 8, 3))], error="last dim of 'input' must be 1 .* or 2"),
    case("DFT", 20, [data((2, 8, 2)), None, np.array(2, i64)], error="axis 2 is the last one"),
    *[case("STFT", 17, [data((2, 40, 1), t), np.array(4, i64), data((16,), t, 0, 1)], stft, rtol=1e-5 if t.itemsize > 2 else 0.05, atol=2e-5 if t.itemsize > 2 else 0.2) for t in FLOATS],
    case("STFT", 17, [data((2, 40, 1)), np.array(5, i64), None, np.array(10, i64)], stft, id="no window", **SCALARS),
    case("STFT", 17, [data((2, 40, 1)), np.array(5, i64), data((10,), f32, 0, 1), np.array(10, i64)], stft, id="window and length", **SCALARS),
    case("STFT", 17, [data((1, 40, 2)), np.array(3, i64), data((16,), f32, 0, 1)], lambda *x: stft(*x, onesided=0), attrs={"onesided": 0}, id="complex", **SCALARS),
    case("STFT", 17, [data((1, 40, 1)), np.array(0, i64), data((16,))], error="'frame_step' is 0"),
    case("STFT", 17, [data((1, 40, 2)), np.array(4, i64), data((16,))], error="set it to 0"),
    *[case(name, 17, [np.array(n, t)], lambda n, a=a, p=periodic: window(n, a, p).astype(f32), attrs={"periodic": periodic}, atol=2e-6, id=f"{n}, periodic {periodic}")
      for name, a in WINDOWS.items() for periodic in (0, 1) for n, t in ((10, i64), (7, i32))],
    case("HannWindow", 17, [np.array(9, i64)], window(9, (0.5, 0.5, 0)), attrs={"output_datatype": TensorProto.DOUBLE}, id="double", atol=1e-6, rtol=1e-6),
    case("HammingWindow", 17, [ints(4, 5)], error="'size' has 2 elements"),
    case("HannWindow", 17, [np.array(-1, i64)], error="'size' is -1"),
    case("MelWeightMatrix", 17, MEL, lambda *x: mel_weights(*x).astype(f32), **SCALARS),
    case("MelWeightMatrix", 17, MEL[:3] + [x.astype(f64) for x in MEL[3:]], lambda *x: mel_weights(*x).astype(f32), id="edges in double", peer="takes float edges only", **SCALARS),
    case("MelWeightMatrix", 17, [MEL[0], np.array(-2, i64), *MEL[2:]], error="dft_length -2"),
]
