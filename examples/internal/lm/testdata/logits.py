"""Tokens, losses and 32 logits of each token of a text of SmolLM2 by PyTorch in float32, for TestSmolLM2. FOLDER is
written by examples/transformer/smollm2.py.

    python3 logits.py FOLDER > smollm2.json        (PyTorch 2.15.0, transformers 5.24.0, tokenizers 0.23.3)"""
import json, sys
import tokenizers, torch, transformers

TEXT = """<|im_start|>user
In 1704 Newton wrote: "Light is never known to follow crooked passages."  What's 3 times 1,704?<|im_end|>
<|im_start|>assistant
func main() {\n\t\tfor i := 10; i > 0; i-- { fmt.Println("é", i) }\r\n}  // 日本 ½
"""
COLUMNS = list(range(0, 49152, 1536))

model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32).eval()
tokens = tokenizers.Tokenizer.from_file(sys.argv[1] + "/tokenizer.json").encode(TEXT).ids
with torch.no_grad():
    logits = model(torch.tensor([tokens])).logits[0]
losses = -torch.log_softmax(logits[:-1].double(), -1).gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
print(json.dumps({"text": TEXT, "tokens": tokens, "losses": [round(x, 5) for x in losses.tolist()], "columns": COLUMNS,
                  "logits": [[round(x, 4) for x in row] for row in logits[:, COLUMNS].tolist()]}))
