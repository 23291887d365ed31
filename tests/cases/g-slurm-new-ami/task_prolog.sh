#!/bin/bash
# last change 2023-11 (AL2 image)
echo export NCCL_SOCKET_IFNAME=eth0
echo export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
echo export OMP_NUM_THREADS=8
