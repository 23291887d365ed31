"""What commands say: the variables of ranks, and how many ranks start in a pod."""

import pytest
import yaml

from gonogo.launch.like import load


@pytest.fixture
def mpi_job(tmp_path):
    """The pattern of an MPIJob whose launcher runs this."""

    def make(command, env=(), worker_env=(), **spec):
        launcher = {"name": "l", "image": "a:1", "command": command, "env": list(env)}
        worker = {"name": "w", "image": "a:1", "env": list(worker_env)}
        roles = {
            "Launcher": {"template": {"spec": {"containers": [launcher]}}},
            "Worker": {"replicas": 2, "template": {"spec": {"containers": [worker]}}},
        }
        path = tmp_path / "job.yaml"
        path.write_text(yaml.safe_dump({"kind": "MPIJob", "spec": {"mpiReplicaSpecs": roles, **spec}}))
        return load(path)

    return make


def told(found):
    return {e["name"]: e["value"] for e in found.template["spec"]["containers"][0].get("env", [])}


def env(**values):
    return [{"name": name, "value": value} for name, value in values.items()]


def test_the_workers_have_what_mpirun_gives_them(mpi_job):
    words = "-np 16 -x NCCL_SOCKET_IFNAME=^lo,docker0 -x FI_PROVIDER -x LD_LIBRARY_PATH -x NCCL_DEBUG=INFO -x OTHER=1"
    found = mpi_job(["mpirun", *words.split(), "./train"], env(FI_PROVIDER="efa", LD_LIBRARY_PATH="/opt"))
    assert told(found) == {"NCCL_SOCKET_IFNAME": "^lo,docker0", "FI_PROVIDER": "efa", "NCCL_DEBUG": "INFO"}


def test_the_workers_own_word_goes_before_mpiruns(mpi_job):
    found = mpi_job(["mpirun", "-x", "NCCL_DEBUG=INFO"], worker_env=env(NCCL_DEBUG="WARN"))
    assert told(found) == {"NCCL_DEBUG": "WARN"}


SHELL = """
export NCCL_SOCKET_IFNAME="eth0"   # the pods' own
# export NCCL_DEBUG=TRACE
export NCCL_IB_HCA=$HCA FI_LOG_LEVEL=`level`
export NCCL_ALGO=Ring; export NCCL_PROTO=LL && export NCCL_PROTO=Simple
mpirun -np 2 ./train
"""


def test_a_shells_exports_count_where_they_are_plain_and_agree(mpi_job):
    assert told(mpi_job(["bash", "-c", SHELL])) == {"NCCL_SOCKET_IFNAME": "eth0", "NCCL_ALGO": "Ring"}


RANKS = {
    "mpirun -np 8 -N 4 ./x": 4,
    "mpirun --npernode 4 ./x": 4,
    "mpirun --map-by ppr:4:node ./x": 4,
    "mpirun -np 8 ./x": 2,
    "mpirun -np 2 -N 1 torchrun --nproc_per_node=4 x.py": 4,
    'torchrun --nproc-per-node "$GPUS" x.py': 4,
    "torchrun --nproc-per-node ${UNKNOWN} x.py": 2,
    "torchrun $(ARGS) x.py": 4,
}


@pytest.mark.parametrize("command", RANKS)
def test_who_starts_the_ranks_says_how_many_before_the_jobs_slots_do(command, mpi_job):
    told = env(GPUS="4") + (env(ARGS="--nproc_per_node $GPUS") if "ARGS" in command else [])
    assert mpi_job(["sh", "-c", command], told, slotsPerWorker=2).ranks == RANKS[command]
