// Times the max-flow library of Boykov and Kolmogorov (Debian's libmaxflow-dev).
// A program of its own, built by `make peers` and talked to through pipes: the
// library is under the GPL, and nothing of it is linked into segd.
//
//   bk FILE     FILE: int32 n, m, k; m times {int32 i, j; double w}; k times n
//               doubles, terminal capacities (> 0 from the source, < 0 to the
//               sink). Native byte order.
//
// Each line of stdin asks for one repetition and is answered by one line
// "seconds flow":
//   cold K      a new graph with the K-th terminals, flow, labels
//   step K      change the terminals to the K-th, keeping flow and search trees
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <maxflow/graph.h>
// The template's code comes with the header, so that it is compiled here with
// the optimisation and the capacities (double) of this program.
#include <maxflow/graph.cpp>

using Graph = maxflow::Graph<double, double, double>;
template class maxflow::Graph<double, double, double>;

struct Edge {
	int32_t i, j;
	double w;
};

static_assert(sizeof(Edge) == 16, "as the file has it");

template <typename T> static void get(FILE *f, T *dst, size_t count) {
	if (fread(dst, sizeof(T), count, f) != count) {
		fprintf(stderr, "bk: the file is too short\n");
		exit(1);
	}
}

static double positive(double x) { return x > 0 ? x : 0; }

int main(int argc, char **argv) {
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : nullptr;
	if (!f) {
		fprintf(stderr, "bk: want one argument, a file of a graph\n");
		return 1;
	}
	int32_t n, m, k;
	get(f, &n, 1), get(f, &m, 1), get(f, &k, 1);
	std::vector<Edge> edges(m);
	get(f, edges.data(), m);
	std::vector<std::vector<double>> terminals(k, std::vector<double>(n));
	for (auto &t : terminals)
		get(f, t.data(), n);
	fclose(f);

	Graph g(n, m);
	std::vector<double> now(n), in(n), out(n); // in, out: all that was added
	std::vector<char> y(n);
	char what[16];
	int at;
	while (scanf("%15s %d", what, &at) == 2) {
		if (at < 0 || at >= k)
			return 1;
		const std::vector<double> &want = terminals[at];
		const bool cold = !strcmp(what, "cold");
		const auto begin = std::chrono::steady_clock::now();
		double flow;
		if (cold) {
			g.reset();
			g.add_node(n);
			for (const Edge &e : edges)
				g.add_edge(e.i, e.j, e.w, e.w);
			for (int i = 0; i < n; i++)
				g.add_tweights(i, positive(want[i]), positive(-want[i]));
			flow = g.maxflow();
		} else {
			for (int i = 0; i < n; i++)
				if (const double d = want[i] - now[i]; d != 0) {
					g.add_tweights(i, positive(d), positive(-d));
					g.mark_node(i);
				}
			flow = g.maxflow(true);
		}
		for (int i = 0; i < n; i++)
			y[i] = g.what_segment(i, Graph::SINK) == Graph::SOURCE;
		const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

		// What was added to both terminals of a node flows straight through.
		for (int i = 0; i < n; i++) {
			if (cold)
				in[i] = positive(want[i]), out[i] = positive(-want[i]);
			else
				in[i] += positive(want[i] - now[i]), out[i] += positive(now[i] - want[i]);
			flow -= in[i] < out[i] ? in[i] : out[i];
		}
		now = want;
		printf("%.9f %.17g\n", seconds.count(), flow);
		fflush(stdout);
	}
}
