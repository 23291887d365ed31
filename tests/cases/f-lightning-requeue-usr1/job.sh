#!/bin/bash
#SBATCH --nodes=2 --gres=gpu:4 --ntasks-per-node=4
#SBATCH --time=1-00:05:00
#SBATCH --signal=SIGUSR1@300
#SBATCH --requeue
srun --label python seg.py
