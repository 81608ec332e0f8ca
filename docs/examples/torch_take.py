#!/usr/bin/env python3
"""A PyTorch program whose workers take their berths and train a model together (DDP).

usage: torchrun --nproc_per_node 2 torch_take.py: each worker prints a line such as "worker 1 of 2:
cpus 2-3, gpus gpu1, loss 0.35". Without GPUs, or a berth, it runs as well."""
import os

import berth

mine = berth.take()  # before torch: CUDA and HIP read their variables once

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402


def main() -> None:
    has_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if has_gpu else "gloo")
    # With a berth and without one cuda:LOCAL_RANK is the worker's own; alone where workers share it.
    number = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count() if has_gpu else 0
    device = torch.device("cuda", number) if has_gpu else torch.device("cpu")
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(64, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        inputs = torch.randn(256, 64, device=device)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True) / 8)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    here = f"cpus {mine.cpus}, gpus {' '.join(mine.gpus)}" if mine else f"no berth: {mine.reason}"
    print(f"worker {dist.get_rank()} of {dist.get_world_size()}: {here}, loss {loss.item():.2f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
