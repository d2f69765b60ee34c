# Audits the raft log beside each Nomad server, on Nomad itself, once an hour.
#
# For agents that are server and client at once, or a client on each server's machine. Such a client offers the log
# as a host volume, read-only, and says that it is beside a server:
#
#   client {
#     meta { nomad_server = "true" }
#     host_volume "nomad-raft" {
#       path      = "/opt/nomad/data/server/raft"
#       read_only = true
#     }
#   }
#
# An allocation fails (exit code 1) where the audit has findings; its standard output names the entries.

variable "image" {
  type        = string
  description = "The image that deploy/Containerfile makes, in a registry that the clients reach."
  default     = "raftscope:0.1.0"
}

variable "namespace" {
  type    = string
  default = "default"
}

job "raftscope-audit" {
  namespace   = var.namespace
  datacenters = ["*"]
  type        = "sysbatch"

  periodic {
    cron             = "17 * * * *"
    time_zone        = "UTC"
    prohibit_overlap = true
  }

  constraint {
    attribute = "${meta.nomad_server}"
    value     = "true"
  }

  group "audit" {
    # A second run would find the same: what failed is the cluster's history, not the task.
    restart {
      attempts = 0
      mode     = "fail"
    }

    volume "raft" {
      type      = "host"
      source    = "nomad-raft"
      read_only = true
    }

    task "audit" {
      driver = "docker"

      config {
        image           = var.image
        args            = ["audit", "--allow-incomplete", "--fail-on", "error", "/raft"]
        network_mode    = "none"
        readonly_rootfs = true
        cap_drop        = ["all"]
      }

      volume_mount {
        volume      = "raft"
        destination = "/raft"
        read_only   = true
      }

      resources {
        cpu    = 200
        memory = 256
      }
    }
  }
}
