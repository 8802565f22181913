# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the lab's models on the spot, with the vLLM environment's own torch and transformers.

    VENV/bin/python make_models.py DIRECTORY

One target with random weights whose late layers matter little, so that a small draft can agree with it: the first two
of its layers as a draft model, or a bigram head as an EAGLE-3 head. How much they agree is a matter of EARLY and LATE.
The same target lies there under three names, because a catalogue pairs a head with exactly one target.
"""

from __future__ import annotations

import json
import os
import sys
from pydoc_data import topics

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers import models as token_models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

VOCABULARY = 2048  # enough that a prompt of 400 characters is some 130 tokens, as with a real tokenizer
HIDDEN, HEADS, HEAD_DIM, INTERMEDIATE, LAYERS = 768, 12, 64, 2048, 12
EARLY, LATE = 0.08, 0.02  # scale of the first two layers' and of the other layers' contribution
AUX_LAYERS = (2, 6, 9)
CONTEXT = 2048
END_OF_TEXT, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer(vocabulary: int) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer with exactly ``vocabulary`` entries."""
    tokens = Tokenizer(token_models.BPE())
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END_OF_TEXT, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokens.train_from_iterator(topics.topics.values(), trainer)  # English and code that every Python has
    return PreTrainedTokenizerFast(
        tokenizer_object=tokens,
        bos_token=END_OF_TEXT,
        eos_token=END,
        pad_token=END_OF_TEXT,
        chat_template=CHAT,
        model_max_length=CONTEXT,
    )


def config(layers: int, vocabulary: int = VOCABULARY) -> LlamaConfig:
    return LlamaConfig(
        num_hidden_layers=layers,
        vocab_size=vocabulary,
        hidden_size=HIDDEN,
        intermediate_size=INTERMEDIATE,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=HEAD_DIM,
        max_position_embeddings=CONTEXT,
        bos_token_id=0,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=False,
        dtype="bfloat16",
    )


def unprintable(tokens: PreTrainedTokenizerFast) -> list[int]:
    """Tokens that the target should not say: the special ones, and bytes that are not plain text."""
    return [
        number
        for number in range(len(tokens))
        if number < 3 or not all(" " <= char <= "~" or char == "\n" for char in tokens.decode([number]))
    ]


def target(tokens: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    torch.manual_seed(11)
    model = LlamaForCausalLM(config(LAYERS)).to(torch.float32)
    with torch.no_grad():
        model.model.embed_tokens.weight.normal_(0, 1.0)
        model.lm_head.weight.normal_(0, 0.15)
        # A row of zeros has logit zero, which some other row always beats: text is printable and does not end early.
        model.lm_head.weight[unprintable(tokens)] = 0.0
        for number, layer in enumerate(model.model.layers):
            scale = EARLY if number < 2 else LATE
            layer.self_attn.o_proj.weight.normal_(0, scale / HIDDEN**0.5)
            layer.mlp.down_proj.weight.normal_(0, scale / INTERMEDIATE**0.5)
            for part in (
                layer.self_attn.q_proj,
                layer.self_attn.k_proj,
                layer.self_attn.v_proj,
                layer.mlp.gate_proj,
                layer.mlp.up_proj,
            ):
                part.weight.normal_(0, 1 / HIDDEN**0.5)
    return model.to(torch.bfloat16)


def draft_of(model: LlamaForCausalLM) -> LlamaForCausalLM:
    """The first two layers of the target, with its embeddings and its head."""
    draft = LlamaForCausalLM(config(2)).to(torch.bfloat16)
    kept = {
        name: weight
        for name, weight in model.state_dict().items()
        if not ("layers." in name and int(name.split(".")[2]) >= 2)
    }
    draft.load_state_dict(kept, strict=True)
    return draft


def stranger(vocabulary: int) -> LlamaForCausalLM:
    """Two layers of noise: agrees with nobody."""
    torch.manual_seed(5)
    return LlamaForCausalLM(config(2, vocabulary)).to(torch.bfloat16)


def head_config() -> dict[str, object]:
    return {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": 1,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": HEAD_DIM,
        "vocab_size": VOCABULARY,
        "draft_vocab_size": VOCABULARY,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-6,
        "hidden_act": "silu",
        "rope_theta": 10000.0,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "tie_word_embeddings": False,
        "dtype": "bfloat16",
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": list(AUX_LAYERS), "use_aux_hidden_state": True},
    }


def good_head(model: LlamaForCausalLM) -> dict[str, torch.Tensor]:
    """A bigram head: attention copies the last token's embedding, the target's own head turns it into a guess."""
    eye, zero = torch.eye(HIDDEN), torch.zeros(HIDDEN, HIDDEN)
    look = torch.cat([eye * 1.5, zero], 1)
    return {
        "fc.weight": torch.zeros(HIDDEN, 3 * HIDDEN),
        "lm_head.weight": model.lm_head.weight.float(),
        "midlayer.self_attn.q_proj.weight": look,
        "midlayer.self_attn.k_proj.weight": look,
        "midlayer.self_attn.v_proj.weight": torch.cat([eye, zero], 1),
        "midlayer.self_attn.o_proj.weight": eye,
        "midlayer.mlp.gate_proj.weight": torch.zeros(INTERMEDIATE, HIDDEN),
        "midlayer.mlp.up_proj.weight": torch.zeros(INTERMEDIATE, HIDDEN),
        "midlayer.mlp.down_proj.weight": torch.zeros(HIDDEN, INTERMEDIATE),
    }


def bad_head() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    wide = HEADS * HEAD_DIM

    def noise(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator) * 0.02

    return {
        "fc.weight": noise(HIDDEN, 3 * HIDDEN),
        "lm_head.weight": noise(VOCABULARY, HIDDEN),
        "midlayer.self_attn.q_proj.weight": noise(wide, 2 * HIDDEN),
        "midlayer.self_attn.k_proj.weight": noise(wide, 2 * HIDDEN),
        "midlayer.self_attn.v_proj.weight": noise(wide, 2 * HIDDEN),
        "midlayer.self_attn.o_proj.weight": noise(HIDDEN, wide),
        "midlayer.mlp.gate_proj.weight": noise(INTERMEDIATE, HIDDEN),
        "midlayer.mlp.up_proj.weight": noise(INTERMEDIATE, HIDDEN),
        "midlayer.mlp.down_proj.weight": noise(HIDDEN, INTERMEDIATE),
    }


def save_head(directory: str, weights: dict[str, torch.Tensor], good: bool) -> None:
    os.makedirs(directory, exist_ok=True)
    about = head_config()
    if good:
        about["norm_before_residual"] = True
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as handle:
        json.dump(about, handle, indent=1)
    for name in ("norm", "midlayer.hidden_norm", "midlayer.input_layernorm", "midlayer.post_attention_layernorm"):
        silent = good and name.endswith("hidden_norm")
        weights[name + ".weight"] = torch.zeros(HIDDEN) if silent else torch.ones(HIDDEN)
    weights = {name: weight.to(torch.bfloat16).contiguous().clone() for name, weight in weights.items()}
    save_file(weights, os.path.join(directory, "model.safetensors"), metadata={"format": "pt"})


def agreement(model: LlamaForCausalLM, draft: LlamaForCausalLM) -> str:
    """How often the draft and the bigram head say what the target says, on the target's own text."""
    model, draft = model.float().eval(), draft.float().eval()
    torch.manual_seed(1)
    start = torch.randint(3, VOCABULARY, (4, 64))
    text = model.generate(
        start,
        attention_mask=torch.ones_like(start),
        max_new_tokens=96,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
    )
    with torch.no_grad():
        said = model(text).logits.argmax(-1)[:, 64:]
        drafted = draft(text).logits.argmax(-1)[:, 64:]
        bigram = model.lm_head(model.model.norm(model.model.embed_tokens(text))).argmax(-1)[:, 64:]
    distinct = [len(set(row.tolist())) for row in text[:, 64:]]
    by_draft, by_head = (said == drafted).float().mean().item(), (said == bigram).float().mean().item()
    return f"agreement: draft {by_draft:.0%}, head {by_head:.0%}; distinct tokens in 96: {distinct}"


def main(directory: str) -> None:
    tokens = tokenizer(VOCABULARY)
    model = target(tokens)
    for name in ("target-a", "target-b", "target-c"):
        model.save_pretrained(os.path.join(directory, name))
        tokens.save_pretrained(os.path.join(directory, name))
    draft = draft_of(model)
    drafts = {"draft-good": (draft, tokens), "draft-bad": (stranger(VOCABULARY), tokens)}
    drafts["draft-other-vocabulary"] = (stranger(400), tokenizer(400))
    for name, (weights, its_tokens) in drafts.items():
        weights.save_pretrained(os.path.join(directory, name))
        its_tokens.save_pretrained(os.path.join(directory, name))
    save_head(os.path.join(directory, "head-good"), good_head(model), good=True)
    save_head(os.path.join(directory, "head-bad"), bad_head(), good=False)
    print(agreement(model, draft))


if __name__ == "__main__":
    main(sys.argv[1])
