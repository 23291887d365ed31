"""Variables that NCCL, Gloo, libfabric and torch read, so that a misspelt one is not taken for one that works."""

from __future__ import annotations

from collections.abc import Iterable

KNOWN = tuple(
    f"{prefix}_{name}"
    for prefix, names in {
        "NCCL": "ALGO ASYNC_ERROR_HANDLING BUFFSIZE CHECKS_DISABLE CHECK_POINTERS COLLNET_ENABLE COMM_BLOCKING "
        "COMM_ID CONF_FILE CROSS_NIC CTA_POLICY CUMEM_ENABLE CUMEM_HOST_ENABLE DEBUG DEBUG_FILE "
        "DEBUG_SUBSYS DMABUF_ENABLE GDRCOPY_ENABLE GRAPH_DUMP_FILE GRAPH_FILE GRAPH_MIXING_SUPPORT "
        "GRAPH_REGISTER HOSTID IB_ADAPTIVE_ROUTING IB_AR_THRESHOLD IB_CUDA_SUPPORT IB_DISABLE IB_FIFO_TC "
        "IB_GID_INDEX IB_HCA IB_MERGE_NICS IB_PCI_RELAXED_ORDERING IB_QPS_PER_CONNECTION IB_RETRY_CNT "
        "IB_RETURN_ASYNC_EVENTS IB_ROCE_VERSION_NUM IB_SL IB_SPLIT_DATA_ON_QPS IB_TC IB_TIMEOUT "
        "IGNORE_CPU_AFFINITY IGNORE_DISABLED_P2P LAUNCH_MODE LAUNCH_ORDER_IMPLICIT LL_BUFFSIZE "
        "LOCAL_REGISTER MAX_CTAS MAX_NCHANNELS MAX_NRINGS MAX_P2P_NCHANNELS MIN_CTAS MIN_NCHANNELS "
        "MIN_NRINGS MIN_P2P_NCHANNELS MNNVL_ENABLE NCHANNELS_PER_NET_PEER NET NETDEVS_POLICY "
        "NET_DISABLE_INTRA NET_FORCE_MERGE NET_GDR_C2C NET_GDR_LEVEL NET_GDR_READ NET_MERGE_LEVEL "
        "NET_PLUGIN NET_SHARED_BUFFERS NET_SHARED_COMMS NSOCKS_PERTHREAD NTHREADS NVB_DISABLE NVLS_ENABLE "
        "OOB_NET_ENABLE OOB_NET_IFNAME P2P_DIRECT_DISABLE P2P_DISABLE P2P_LEVEL P2P_NET_CHUNKSIZE "
        "PROFILER_PLUGIN PROTO PXN_DISABLE RAS_ADDR RAS_ENABLE RAS_TIMEOUT_FACTOR RUNTIME_CONNECT "
        "SET_STACK_SIZE SET_THREAD_NAME SHM_DISABLE SHM_LOCALITY SHM_USE_CUDA_MEMCPY "
        "SINGLE_RING_THRESHOLD SOCKET_FAMILY SOCKET_IFNAME SOCKET_NTHREADS SOCKET_POLL_TIMEOUT_MSEC "
        "SOCKET_RETRY_CNT SOCKET_RETRY_SLEEP_MSEC STORE_TIMEOUT TOPO_DUMP_FILE TOPO_FILE TREE_THRESHOLD "
        "TUNER_PLUGIN UID_STAGGER_RATE UID_STAGGER_THRESHOLD WIN_ENABLE WIN_STRIDE WORK_FIFO_BYTES "
        "DESYNC_DEBUG BLOCKING_WAIT",
        "GLOO": "SOCKET_IFNAME DEVICE_TRANSPORT LOG_LEVEL",
        "TP": "SOCKET_IFNAME",
        "FI": "PROVIDER LOG_LEVEL EFA_FORK_SAFE EFA_USE_DEVICE_RDMA EFA_SET_CUDA_SYNC_MEMOPS "
        "EFA_ENABLE_SHM_TRANSFER EFA_USE_HUGE_PAGE EFA_IFACE MR_CACHE_MONITOR",
        "MASTER": "ADDR PORT",
        "OMP": "NUM_THREADS",
        "TORCH": "CPP_LOG_LEVEL DISTRIBUTED_DEBUG SHOW_CPP_STACKTRACES FR_BUFFER_SIZE",
        "TORCH_NCCL": "ASYNC_ERROR_HANDLING AVOID_RECORD_STREAMS BLOCKING_WAIT DEBUG_INFO_TEMP_FILE DESYNC_DEBUG "
        "DUMP_ON_TIMEOUT ENABLE_MONITORING ENABLE_TIMING HEARTBEAT_TIMEOUT_SEC TRACE_BUFFER_SIZE "
        "USE_COMM_NONBLOCKING WAIT_TIMEOUT_DUMP_MILSEC HIGH_PRIORITY",
    }.items()
    for name in names.split()
)
"""Sources: NCCL's user guide, libfabric's fi_efa(7), torch.distributed's documentation."""


def misspelt(names: Iterable[str]) -> list[str]:
    """`NCCL_SOCKET_IFNAM (NCCL_SOCKET_IFNAME?)`: unknown names of which one character makes a known one."""
    unknown = [name for name in names if name not in KNOWN]
    return [f"{name} ({near}?)" for name in unknown if (near := next((k for k in KNOWN if _is_near(name, k)), ""))]


def _is_near(one: str, other: str) -> bool:
    """Whether they differ in one character that is missing, too many or another, or in two that changed places."""
    if abs(len(one) - len(other)) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    left, right = one[at:], other[at:]
    swapped = left[:2] == right[:2][::-1] and left[2:] == right[2:]
    return swapped or left[1:] == right or left == right[1:] or left[1:] == right[1:]
