# Logits of a small decoder by PyTorch in float64, for TestPyTorch. Element k of tensor n, in the
# order of names, is 0.3·sin(1.3·k + n) for matrices, and 1 + 0.3·sin(1.3·k + n) for gains of norms.
#
#     python3 logits.py > logits.json        (PyTorch 1.13.1, Debian's python3-torch)

import json
import math

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
TOKENS = [3, 1, 10, 4, 4, 0, 7]


def parameters(shapes):
    out = {}
    for n, name in enumerate(sorted(shapes)):
        shape = shapes[name]
        wave = torch.sin(1.3 * torch.arange(math.prod(shape)) + n).reshape(shape)
        if len(shape) == 2:
            out[name] = 0.3 * wave
        else:
            out[name] = 1 + 0.3 * wave
    return out


def attend(q, k, v):
    """q is (H, L, d); k and v are (Hk, L, d)."""
    k = k.repeat_interleave(q.shape[0] // k.shape[0], 0)
    v = v.repeat_interleave(q.shape[0] // v.shape[0], 0)
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
    mask = torch.ones(scores.shape[1:], dtype=torch.bool).tril()
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ v


def split(x, heads):
    return x.reshape(x.shape[0], heads, -1).transpose(0, 1)


def join(x):
    return x.transpose(0, 1).reshape(x.shape[1], -1)


def turn(x, base):
    """The rotation of complex numbers whose parts are the halves of a head."""
    half = x.shape[2] // 2
    omega = base ** (-torch.arange(half) / half)
    phase = torch.polar(torch.ones(()), torch.outer(torch.arange(x.shape[1]).double(), omega))
    z = torch.complex(x[..., :half], x[..., half:]) * phase
    return torch.cat([z.real, z.imag], -1)


def llama():
    vocabulary, layers, width, heads, key_heads, d, inner, base, epsilon = 11, 2, 12, 4, 2, 6, 10, 500.0, 1e-5
    shapes = {"model.embed_tokens.weight": (vocabulary, width), "model.norm.weight": (width,), "lm_head.weight": (vocabulary, width)}
    for i in range(layers):
        p = f"model.layers.{i}."
        shapes |= {
            p + "input_layernorm.weight": (width,),
            p + "post_attention_layernorm.weight": (width,),
            p + "self_attn.q_proj.weight": (heads * d, width),
            p + "self_attn.k_proj.weight": (key_heads * d, width),
            p + "self_attn.v_proj.weight": (key_heads * d, width),
            p + "self_attn.o_proj.weight": (width, heads * d),
            p + "mlp.gate_proj.weight": (inner, width),
            p + "mlp.up_proj.weight": (inner, width),
            p + "mlp.down_proj.weight": (width, inner),
        }
    w = parameters(shapes)

    def norm(x, name):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * w[name]

    x = w["model.embed_tokens.weight"][TOKENS]
    for i in range(layers):
        p = f"model.layers.{i}."
        h = norm(x, p + "input_layernorm.weight")
        q = turn(split(h @ w[p + "self_attn.q_proj.weight"].T, heads), base)
        k = turn(split(h @ w[p + "self_attn.k_proj.weight"].T, key_heads), base)
        v = split(h @ w[p + "self_attn.v_proj.weight"].T, key_heads)
        x = x + join(attend(q, k, v)) @ w[p + "self_attn.o_proj.weight"].T
        h = norm(x, p + "post_attention_layernorm.weight")
        gate = F.silu(h @ w[p + "mlp.gate_proj.weight"].T)
        x = x + (gate * (h @ w[p + "mlp.up_proj.weight"].T)) @ w[p + "mlp.down_proj.weight"].T
    return norm(x, "model.norm.weight") @ w["lm_head.weight"].T


print(json.dumps({"tokens": TOKENS, "logits": llama().tolist()}, indent=0))
