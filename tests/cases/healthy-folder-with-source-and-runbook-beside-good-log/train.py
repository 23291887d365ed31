import torch
import torch.distributed as dist

FATAL = ("CUDA error: uncorrectable ECC error encountered", "NCCL error", "unhandled cuda error")


def step(model, batch):
    try:
        return model(batch).loss
    except torch.cuda.OutOfMemoryError as e:
        if "CUDA out of memory" in str(e):
            raise SystemExit("CUDA out of memory: lower the batch size") from e
        raise
    except RuntimeError as e:
        if any(f in str(e) for f in FATAL):
            raise RuntimeError("node is bad, NVRM Xid expected in dmesg") from e
        raise


if __name__ == "__main__":
    dist.init_process_group("nccl")  # MASTER_ADDR, else: Connection refused / timed out
