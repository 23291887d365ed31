eks_managed_node_groups = {
  a10g = {
    ami_type       = "AL2_x86_64_GPU"
    instance_types = ["g5.12xlarge"]
    min_size       = 0
    max_size       = 6
    desired_size   = 2
    pre_bootstrap_user_data = <<-EOT
      export KUBELET_EXTRA_ARGS="--max-pods=110"
    EOT
  }
}
