/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collective operations of MPI, each result verified on every rank, and timed: mpi_collectives [rounds [max elements]].
 *
 * Elements are 64-bit and follow from who sends what to whom in which round, so that a message that is stale, misplaced or
 * damaged shows. Built by its row with mpicc; ends with MPI_Abort at the first wrong element.
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks;
static const char *what;
static size_t round_number;

/* What rank `from` has for rank `to` at place `i`. Small enough for sums over all ranks. */
static int64_t element(int from, int to, size_t i)
{
	return (int64_t)((round_number * 7919 + (size_t)from * 104729 + (size_t)to * 1299709 + i * 31) % 1000003);
}

static void need(int64_t got, int64_t want, size_t i)
{
	if (got == want)
		return;
	fprintf(stderr, "rank %d, %s, round %zu, element %zu: %" PRId64 " instead of %" PRId64 "\n", rank, what, round_number, i, got, want);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static int64_t sum_over(int first, int last, int to, size_t i)
{
	int64_t sum = 0;

	for (int from = first; from <= last; from++)
		sum += element(from, to, i);
	return sum;
}

struct buffers {
	int64_t *out, *in;  /* `ranks` blocks of n */
	int *counts, *places;
};

static void fill(int64_t *at, size_t n, int to)
{
	for (size_t i = 0; i < n; i++)
		at[i] = element(rank, to, i);
}

static void fill_blocks(struct buffers *b, size_t n)
{
	for (int to = 0; to < ranks; to++)
		fill(b->out + (size_t)to * n, n, to);
}

static void broadcast(struct buffers *b, size_t n)
{
	int root = (int)(round_number % (size_t)ranks);

	if (rank == root)
		fill(b->in, n, 0);
	MPI_Bcast(b->in, (int)n, MPI_INT64_T, root, MPI_COMM_WORLD);
	for (size_t i = 0; i < n; i++)
		need(b->in[i], element(root, 0, i), i);
}

static void reduce(struct buffers *b, size_t n)
{
	int root = (int)(round_number % (size_t)ranks);

	fill(b->out, n, 0);
	MPI_Reduce(b->out, b->in, (int)n, MPI_INT64_T, MPI_SUM, root, MPI_COMM_WORLD);
	for (size_t i = 0; rank == root && i < n; i++)
		need(b->in[i], sum_over(0, ranks - 1, 0, i), i);
}

static void allreduce(struct buffers *b, size_t n)
{
	fill(b->out, n, 0);
	MPI_Allreduce(b->out, b->in, (int)n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (size_t i = 0; i < n; i++)
		need(b->in[i], sum_over(0, ranks - 1, 0, i), i);
}

static void scan(struct buffers *b, size_t n)
{
	fill(b->out, n, 0);
	MPI_Scan(b->out, b->in, (int)n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (size_t i = 0; i < n; i++)
		need(b->in[i], sum_over(0, rank, 0, i), i);
}

static void reduce_scatter(struct buffers *b, size_t n)
{
	fill_blocks(b, n);
	MPI_Reduce_scatter_block(b->out, b->in, (int)n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (size_t i = 0; i < n; i++)
		need(b->in[i], sum_over(0, ranks - 1, rank, i), i);
}

static void scatter(struct buffers *b, size_t n)
{
	int root = (int)(round_number % (size_t)ranks);

	if (rank == root)
		fill_blocks(b, n);
	MPI_Scatter(b->out, (int)n, MPI_INT64_T, b->in, (int)n, MPI_INT64_T, root, MPI_COMM_WORLD);
	for (size_t i = 0; i < n; i++)
		need(b->in[i], element(root, rank, i), i);
}

static void need_blocks(const struct buffers *b, size_t n, int to)
{
	for (int from = 0; from < ranks; from++)
		for (size_t i = 0; i < n; i++)
			need(b->in[(size_t)from * n + i], element(from, to, i), (size_t)from * n + i);
}

static void gather(struct buffers *b, size_t n)
{
	int root = (int)(round_number % (size_t)ranks);

	fill(b->out, n, 0);
	MPI_Gather(b->out, (int)n, MPI_INT64_T, b->in, (int)n, MPI_INT64_T, root, MPI_COMM_WORLD);
	if (rank == root)
		need_blocks(b, n, 0);
}

static void allgather(struct buffers *b, size_t n)
{
	fill(b->out, n, 0);
	MPI_Allgather(b->out, (int)n, MPI_INT64_T, b->in, (int)n, MPI_INT64_T, MPI_COMM_WORLD);
	need_blocks(b, n, 0);
}

static void alltoall(struct buffers *b, size_t n)
{
	fill_blocks(b, n);
	MPI_Alltoall(b->out, (int)n, MPI_INT64_T, b->in, (int)n, MPI_INT64_T, MPI_COMM_WORLD);
	need_blocks(b, n, rank);
}

/* Blocks of different lengths: rank r receives n * (r + 1) / ranks elements from each. */
static void alltoallv(struct buffers *b, size_t n)
{
	int *counts = b->counts, *places = b->places, mine = (int)(n * (size_t)(rank + 1) / (size_t)ranks);

	fill_blocks(b, n);
	for (int to = 0; to < ranks; to++) {
		counts[to] = (int)(n * (size_t)(to + 1) / (size_t)ranks);
		places[to] = (int)((size_t)to * n);
		counts[ranks + to] = mine;
	}
	MPI_Alltoallv(b->out, counts, places, MPI_INT64_T, b->in, counts + ranks, places, MPI_INT64_T, MPI_COMM_WORLD);
	for (int from = 0; from < ranks; from++)
		for (size_t i = 0; i < (size_t)mine; i++)
			need(b->in[(size_t)from * n + i], element(from, rank, i), i);
}

/* Everybody to everybody at once, by messages of its own that are received in another order than they are sent. */
static void messages(struct buffers *b, size_t n)
{
	MPI_Request *requests = malloc(sizeof(*requests) * 2 * (size_t)ranks);

	fill_blocks(b, n);
	for (int k = 0; k < ranks; k++) {
		int from = (rank + ranks - k) % ranks;

		MPI_Irecv(b->in + (size_t)from * n, (int)n, MPI_INT64_T, from, from, MPI_COMM_WORLD, &requests[k]);
	}
	for (int to = ranks - 1; to >= 0; to--)
		MPI_Isend(b->out + (size_t)to * n, (int)n, MPI_INT64_T, to, rank, MPI_COMM_WORLD, &requests[ranks + to]);
	MPI_Waitall(2 * ranks, requests, MPI_STATUSES_IGNORE);
	need_blocks(b, n, rank);
	free(requests);
}

/* One-sided: everybody puts a block into each window, gets one from its neighbour's, and adds to a counter at rank 0. */
static void windows(struct buffers *b, size_t n)
{
	int neighbour = (rank + 1) % ranks;
	int64_t one = 1, *sum, *got = malloc(n * sizeof(*got));
	MPI_Win blocks, counter;

	fill_blocks(b, n);
	MPI_Win_create(b->in, (MPI_Aint)((size_t)ranks * n * 8), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &blocks);
	MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &sum, &counter);
	*sum = 0;
	MPI_Win_fence(0, blocks);
	MPI_Win_fence(0, counter);
	for (int to = 0; to < ranks; to++)
		MPI_Put(b->out + (size_t)to * n, (int)n, MPI_INT64_T, to, (MPI_Aint)((size_t)rank * n), (int)n, MPI_INT64_T, blocks);
	MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, counter);
	MPI_Win_fence(0, blocks);
	MPI_Win_fence(0, counter);
	need_blocks(b, n, rank);
	if (rank == 0)
		need(*sum, ranks, 0);
	MPI_Win_lock(MPI_LOCK_SHARED, neighbour, 0, blocks);
	MPI_Get(got, (int)n, MPI_INT64_T, neighbour, (MPI_Aint)((size_t)rank * n), (int)n, MPI_INT64_T, blocks);
	MPI_Win_unlock(neighbour, blocks);
	for (size_t i = 0; i < n; i++)
		need(got[i], element(rank, neighbour, i), i);
	MPI_Win_free(&counter);
	MPI_Win_free(&blocks);
	free(got);
}

static const struct {
	const char *name;
	void (*run)(struct buffers *, size_t);
} operations[] = {
	{ "bcast", broadcast },
	{ "reduce", reduce },
	{ "allreduce", allreduce },
	{ "scan", scan },
	{ "reduce_scatter", reduce_scatter },
	{ "scatter", scatter },
	{ "gather", gather },
	{ "allgather", allgather },
	{ "alltoall", alltoall },
	{ "alltoallv", alltoallv },
	{ "messages", messages },
	{ "windows", windows },
};

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 4, most = argc > 2 ? strtoul(argv[2], NULL, 10) : 65536;
	struct buffers b;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	b.out = calloc((size_t)ranks * most, sizeof(*b.out));
	b.in = calloc((size_t)ranks * most, sizeof(*b.in));
	b.counts = calloc(2 * (size_t)ranks, sizeof(*b.counts));
	b.places = calloc((size_t)ranks, sizeof(*b.places));
	for (size_t k = 0; k < sizeof(operations) / sizeof(*operations); k++) {
		what = operations[k].name;
		for (size_t n = 1; n <= most; n *= 16) {
			double start = MPI_Wtime();

			for (size_t i = 0; i < rounds; i++, round_number++)
				operations[k].run(&b, n);
			MPI_Barrier(MPI_COMM_WORLD);
			if (rank == 0)
				printf("%-14s %8zu elements %10.1f us\n", what, n, (MPI_Wtime() - start) * 1e6 / (double)rounds);
		}
	}
	free(b.out);
	free(b.in);
	free(b.counts);
	free(b.places);
	if (rank == 0)
		printf("verified on %d ranks\n", ranks);
	MPI_Finalize();
	return 0;
}
