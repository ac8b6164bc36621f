"""An FSDP2 recipe that trains a Qwen2-shaped model the same way twice, to the bit.

Read `loop.py` first: it is the whole training run from top to bottom. Everything else answers one
question each: `config.py` what was asked, `data.py` which rows, `model.py` which weights and
shards, `exact.py` which switches, `fingerprint.py` whether two sets of weights are equal,
`checkpoint.py` how a run goes on.
"""
