// The boundary of the core: every core header includes this one, itself or by another.
//
// The core is plain C++20. A core source file that includes PostgreSQL or CUDA does not
// compile: it is built without their include paths, and this header refuses their macros.
// Glue (src/pg) includes core/kde.h, after postgres.h; it does not define the macro.
#pragma once

#ifdef KDE_AQP_CORE
#if defined(PG_VERSION_NUM) || defined(POSTGRES_H)
#error "src/core must not include PostgreSQL headers: move this code to src/pg"
#endif
#if defined(__CUDACC__) || defined(CUDA_VERSION)
#error "src/core must not include CUDA headers: move this code to cuda"
#endif
#endif
