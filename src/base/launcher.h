// The environment variables in which launchers tell a process which of many it is.
#pragma once

namespace crosscut::base {

struct RankVariables {
  const char *rank, *size, *local;
};
// torchrun, Open MPI, MPICH, Slurm. The first that tells rank and size counts: torchrun may itself
// run under the others.
inline constexpr RankVariables kRankVariables[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

}  // namespace crosscut::base
