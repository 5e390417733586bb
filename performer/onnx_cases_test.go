package performer_test

import (
	"slices"
	"strings"

	"github.com/seed-feabd252/randfeat/performer"
)

// onnxNode is one of the published test cases test_attention_* of the operator Attention of ONNX:
// its attributes and the shapes of its inputs. Names of fields are those of the operator.
type onnxNode struct {
	name    string
	q, k, v [4]int // (B, H, L, d), for inputs of rank 3 too
	rank3   bool   // (B, L, H·d) in memory

	mask    [4]int // of attn_mask, with sides of 1 in front; zero if there is none
	boolean bool   // attn_mask is boolean
	rows    string // rows of attn_mask, such as "10 00", and 1 for what is seen; otherwise random
	past    int    // past_sequence_length
	nonpad  []int  // nonpad_kv_seqlen
	causal  bool
	scale   float64
	softcap float64
	scores  performer.Scores // what qk_matmul_output holds
	float16 bool
	left    int // left_window_size + 1, 0 for −1
	right   int // right_window_size + 1
}

// onnxNodes returns the published cases: 76 of opsets 23 and 24, and 11 of opset 25, with windows.
func onnxNodes() []onnxNode {
	q, k := [4]int{2, 3, 4, 8}, [4]int{2, 3, 6, 8}
	usual := onnxNode{q: q, k: k, v: k}
	grouped := onnxNode{q: [4]int{2, 9, 4, 8}, k: k, v: k}
	wide := onnxNode{q: q, k: k, v: [4]int{2, 3, 6, 10}}

	var all []onnxNode
	add := func(name string, n onnxNode, with ...func(*onnxNode)) {
		n.name = "test_attention_" + name
		n.rank3 = strings.HasPrefix(name, "3d_") || name == "3d"
		for _, f := range with {
			f(&n)
		}
		all = append(all, n)
	}
	mask := func(sides ...int) func(*onnxNode) {
		return func(n *onnxNode) {
			n.mask = [4]int{1, 1, 1, 1}
			copy(n.mask[4-len(sides):], sides)
		}
	}
	past := func(n *onnxNode) { n.past = 12 }
	causal := func(n *onnxNode) { n.causal = true }
	boolean := func(n *onnxNode) { n.boolean = true }
	half := func(n *onnxNode) { n.float16 = true }
	scaled := func(n *onnxNode) { n.scale = 0.01 }
	softcap := func(c float64) func(*onnxNode) { return func(n *onnxNode) { n.softcap = c } }
	scores := func(s performer.Scores) func(*onnxNode) { return func(n *onnxNode) { n.scores = s } }
	rows := func(text string) func(*onnxNode) { return func(n *onnxNode) { n.rows = text } }
	nonpad := func(lengths ...int) func(*onnxNode) { return func(n *onnxNode) { n.nonpad = lengths } }
	left := func(n *onnxNode) { n.left = 3 }

	for _, rank := range []string{"3d", "4d"} {
		for _, kind := range []struct {
			infix string
			node  onnxNode
		}{{"", usual}, {"_gqa", grouped}, {"_diff_heads_sizes", wide}} {
			name := rank + kind.infix
			c := 2.0
			if rank == "3d" {
				c = 3
			}
			add(name, kind.node)
			add(name+"_scaled", kind.node, scaled)
			add(name+"_causal", kind.node, causal)
			add(name+"_softcap", kind.node, softcap(c))
			add(name+"_attn_mask", kind.node, mask(4, 6))
			add(strings.Replace(name, "_sizes", "", 1)+"_with_past_and_present", kind.node, mask(4, 18), past)
		}
		name := rank + "_with_past_and_present_qk_matmul"
		add(name, usual, mask(4, 18), past, scores(performer.ScoresAfterMatMul))
		add(name+"_bias", usual, mask(4, 18), past, scores(performer.ScoresAfterBias))
	}
	add("3d_with_past_and_present_qk_matmul_softcap", usual, mask(4, 18), past, softcap(2), scores(performer.ScoresAfterSoftcap))
	add("3d_with_past_and_present_qk_matmul_softmax", usual, mask(4, 18), past, scores(performer.ScoresAfterSoftmax))
	small := [4]int{1, 3, 2, 4}
	add("3d_transpose_verification", onnxNode{q: small, k: small, v: small})

	add("4d_fp16", usual, half)
	add("4d_gqa_with_past_and_present_fp16", grouped, mask(4, 18), past, half)
	add("4d_attn_mask_3d", usual, mask(2, 1, 4, 6))
	add("4d_attn_mask_3d_causal", usual, mask(2, 1, 4, 6), causal)
	add("4d_attn_mask_4d", usual, mask(2, 3, 4, 6))
	add("4d_attn_mask_4d_causal", usual, mask(2, 3, 4, 6), causal)
	add("4d_attn_mask_bool", usual, mask(4, 6), boolean)
	add("4d_attn_mask_bool_4d", usual, mask(2, 3, 4, 6), boolean)
	add("4d_diff_heads_with_past_and_present_mask3d", wide, mask(2, 1, 4, 18), past)
	add("4d_diff_heads_with_past_and_present_mask4d", wide, mask(2, 3, 4, 18), past)
	add("4d_with_qk_matmul", usual, scores(performer.ScoresAfterMatMul))
	add("4d_with_qk_matmul_bias", usual, mask(4, 6), scores(performer.ScoresAfterBias))
	add("4d_with_qk_matmul_softcap", usual, mask(4, 6), softcap(2), scores(performer.ScoresAfterSoftcap))
	add("4d_with_qk_matmul_softmax", usual, mask(4, 6), scores(performer.ScoresAfterSoftmax))
	for _, rank := range []string{"3d", "4d"} {
		sides := mask(2, 1, 4, 18)
		if rank == "4d" {
			sides = mask(2, 3, 4, 18)
		}
		name := "4d_with_past_and_present_qk_matmul_bias_" + rank + "_mask"
		add(name, usual, sides, past, scores(performer.ScoresAfterBias))
		add(name+"_causal", usual, sides, past, scores(performer.ScoresAfterBias), causal)
	}
	add("4d_diff_heads_mask4d_padded_kv", wide, mask(2, 3, 4, 4), nonpad(3, 4))
	q, k = [4]int{1, 1, 4, 8}, [4]int{1, 1, 6, 8}
	blocked := []func(*onnxNode){mask(4, 6), rows("111100 111100 111100 111100"), softcap(0.5)}
	add("4d_softcap_neginf_mask", onnxNode{q: q, k: k, v: k}, blocked...)
	add("4d_softcap_neginf_mask_poison", onnxNode{q: q, k: k, v: k}, blocked...)
	decode := onnxNode{q: [4]int{2, 4, 1, 8}, k: [4]int{2, 2, 8, 8}, v: [4]int{2, 2, 8, 8}}
	add("4d_gqa_causal_nonpad_decode", decode, causal, nonpad(8, 5))
	add("4d_gqa_causal_nonpad_decode_fp16", decode, causal, nonpad(8, 5), half)
	add("4d_causal_nonpad_continued_prefill", onnxNode{q: [4]int{1, 2, 2, 8}, k: [4]int{1, 2, 4, 8}, v: [4]int{1, 2, 4, 8}}, causal, nonpad(4))
	q = [4]int{1, 2, 4, 8}
	add("4d_causal_nonpad_negative_offset_structural_empty", onnxNode{q: q, k: q, v: q}, causal, nonpad(2))
	q, k = [4]int{3, 2, 2, 8}, [4]int{3, 2, 6, 8}
	add("4d_causal_nonpad_batch_prefill", onnxNode{q: q, k: k, v: k}, causal, nonpad(4, 5, 6))
	q, k = [4]int{2, 2, 3, 8}, [4]int{2, 2, 6, 8}
	add("4d_causal_nonpad_attn_mask_composition", onnxNode{q: q, k: k, v: k}, causal, nonpad(4, 5), mask(2, 1, 3, 6), boolean,
		rows("111000 111000 101100 111100 111100 110110"))
	q = [4]int{2, 3, 4, 8}
	add("4d_causal_with_past_and_present", onnxNode{q: q, k: q, v: q, past: 3}, causal)
	q = [4]int{1, 2, 2, 8}
	two := onnxNode{q: q, k: q, v: q, boolean: true}
	add("causal_boolmask_nan_robustness", two, causal, mask(2, 2), rows("10 00"))
	add("23_boolmask_fullymasked_row_nan_robustness", two, mask(2, 2), rows("00 11"))
	add("23_fullymasked_qk_matmul_output_mode3_zero", two, mask(2, 2), rows("00 11"), scores(performer.ScoresAfterSoftmax))
	add("24_fullymasked_qk_matmul_output_mode3_zero", two, mask(2, 2), rows("00 11"), scores(performer.ScoresAfterSoftmax))
	add("24_qk_matmul_output_mode3_softmax_precision", two, mask(2, 2), rows("00 11"), scores(performer.ScoresAfterSoftmax), half)

	cache := onnxNode{q: [4]int{2, 3, 4, 8}, k: [4]int{2, 3, 8, 8}, v: [4]int{2, 3, 8, 8}, nonpad: []int{6, 7}}
	add("local_window", usual, causal, left)
	line := [4]int{1, 1, 5, 1}
	add("bidirectional_window", onnxNode{q: line, k: line, v: line, left: 2, right: 3})
	add("local_window_default", usual)
	add("local_window_rank1_boolean_mask", usual, causal, left, mask(6), boolean)
	add("local_window_with_past", onnxNode{q: [4]int{2, 3, 4, 8}, k: [4]int{2, 3, 2, 8}, v: [4]int{2, 3, 2, 8}, past: 8}, causal, left)
	add("local_window_ext_cache_rank3_head_mask", cache, causal, left, mask(3, 4, 8))
	add("local_window_ext_cache_rank4_batch_mask", cache, causal, left, mask(2, 1, 4, 8))
	add("local_window_ext_cache_rank2_mask", cache, causal, left, mask(1, 8))
	add("local_window_ext_cache_float16_mask", cache, causal, left, mask(1, 8), half)
	add("3d_local_window", onnxNode{q: [4]int{2, 4, 4, 8}, k: [4]int{2, 1, 6, 8}, v: [4]int{2, 1, 6, 6}}, causal, left)
	add("local_window_gqa_rank4_mask", onnxNode{q: [4]int{2, 4, 4, 8}, k: [4]int{2, 2, 6, 8}, v: [4]int{2, 2, 6, 6}},
		causal, left, mask(2, 4, 4, 6), boolean, softcap(2), scores(performer.ScoresAfterSoftmax))
	slices.SortFunc(all, func(a, b onnxNode) int { return strings.Compare(a.name, b.name) })
	return all
}
