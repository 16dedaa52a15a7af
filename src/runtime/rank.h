// Which of many processes of one job this one is, as its launcher says in the environment.
#pragma once

namespace crosscut::record {

// Writes the facts rank, world_size, local_rank and rank_from (the variable) into the log, where
// torchrun, Open MPI, MPICH's or Slurm's launcher tells them; beside them node_rank, role, job and
// restart (from 0) where it tells those. While the log opens.
void WriteRank();

}  // namespace crosscut::record
