package solver

// ParallelFrom is parallelFrom, for tests.
const ParallelFrom = parallelFrom
