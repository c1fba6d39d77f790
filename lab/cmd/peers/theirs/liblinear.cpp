// Times LIBLINEAR's train(), as `liblinear-train -s 3 -B 1 -c C` calls it, without
// reading the file. A program of its own, built by `make peers` and talked to
// through pipes.
//
//   liblinear FILE C     FILE in libsvm's format, labels 1 and -1
//
// Each line of stdin asks for one training and is answered by one line: seconds,
// then the weights for label 1, that of the bias last.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <linear.h>

int main(int argc, char **argv) {
	std::ifstream f(argc == 3 ? argv[1] : "");
	if (!f) {
		fprintf(stderr, "liblinear: want two arguments, a file of samples and C\n");
		return 1;
	}
	std::vector<double> y;
	std::vector<std::vector<feature_node>> rows;
	int d = 0;
	for (std::string line; std::getline(f, line);) {
		char *p = &line[0];
		y.push_back(strtod(p, &p));
		rows.emplace_back();
		for (char *end;; p = end) {
			const int index = strtol(p, &end, 10);
			if (end == p || *end != ':')
				break;
			rows.back().push_back({index, strtod(end + 1, &end)});
			if (index > d)
				d = index;
		}
	}
	// -B 1, as train.c does it: one more feature, always 1.
	std::vector<feature_node *> x;
	for (auto &row : rows) {
		row.push_back({d + 1, 1});
		row.push_back({-1, 0});
		x.push_back(row.data());
	}
	problem prob = {};
	prob.l = int(y.size()), prob.n = d + 1, prob.y = y.data(), prob.x = x.data(), prob.bias = 1;
	parameter param = {};
	param.solver_type = L2R_L1LOSS_SVC_DUAL;
	param.eps = 0.1; // the default of -s 3
	param.C = atof(argv[2]);
	param.p = 0.1;
	if (const char *error = check_parameter(&prob, &param)) {
		fprintf(stderr, "liblinear: %s\n", error);
		return 1;
	}
	set_print_string_function([](const char *) {});

	for (std::string line; std::getline(std::cin, line);) {
		srand(1); // as in a new process
		const auto begin = std::chrono::steady_clock::now();
		model *m = train(&prob, &param);
		const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
		printf("%.9f", seconds.count());
		const double sign = m->label[0] == 1 ? 1 : -1;
		for (int j = 0; j <= d; j++)
			printf(" %.17g", sign * m->w[j]);
		printf("\n");
		fflush(stdout);
		free_and_destroy_model(&m);
	}
}
