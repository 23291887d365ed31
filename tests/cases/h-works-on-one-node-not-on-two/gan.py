# lines 136-146 of /app/gan.py
def sync_stats(feat_sum, proto, args):
    local_rank = int(os.environ["LOCAL_RANK"])
    node = int(os.environ.get("GROUP_RANK", 0))
    if node == 0:
        dist.all_reduce(feat_sum)
        feat_sum /= dist.get_world_size()
    # prototypes live on rank 0
    if proto is not None:
        dist.broadcast(proto, src=0)
    return feat_sum, proto
