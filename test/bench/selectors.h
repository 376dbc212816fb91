// The parts of the table, each in the file of its name.
#pragma once

namespace kde::bench {

void add_plugin();       // plugin_bench.cpp
void add_fast_path();    // fast_path_bench.cpp
void add_lscv_h();       // lscv_h_bench.cpp
void add_lscv_matrix();  // lscv_matrix_bench.cpp
void add_joint_box();    // joint_box_bench.cpp
void add_joint_fit();    // joint_fit_bench.cpp
void add_normal_box();   // normal_box_bench.cpp

}  // namespace kde::bench
