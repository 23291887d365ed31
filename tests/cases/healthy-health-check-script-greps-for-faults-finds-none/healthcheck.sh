#!/bin/bash
set -u
PATTERNS=('NVRM: Xid' 'fallen off the bus' 'uncorrectable ECC error' 'Out of memory: Killed process' 'I/O error' 'EXT4-fs error')
for p in "${PATTERNS[@]}"; do
  if dmesg | grep -q "$p"; then echo "FAIL: found '$p'"; exit 1; fi
done
[[ $(nvidia-smi -L | wc -l) -eq 8 ]] || { echo 'FAIL: fewer than 8 GPUs, GPU is lost'; exit 1; }
echo PASS
