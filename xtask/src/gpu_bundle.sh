#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Tests and times the kernels on this machine's GPU; needs nothing but an NVIDIA driver.
# Exit code: 0 all is right, 3 no GPU, 1 otherwise.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
failed=0

step() {
    local name=$1
    shift
    echo "==> $name: $*"
    "$@"
    local code=$?
    if ((code != 0)); then
        echo "<== $name FAILED (exit code $code)"
        ((failed == 0)) && failed=1
        ((code == 3)) && failed=3
    fi
    return "$code"
}

step doctor ./host doctor
# Without a GPU nothing below can run.
step suite ./benches gpu-suite
((failed == 3)) && exit 3
step "example vector-sum" ./vector-sum
step "example reduction" ./reduction
step "example tile-product" ./tile-product
step "example warpgroup-product" ./warpgroup-product 8192
step "example reaction" ./reaction
# Needs no GPU: what the emulator reports of each fault.
step "example planted-faults" ./planted-faults emulate
# The kernels for older chips run here too, if they were packed.
has_sm_80=$(./host doctor | grep --count 'sm_80')
((has_sm_80)) && step "suite of sm_80" env HOST_CHIP=sm_80 ./benches gpu-suite

if sanitizer=$(command -v compute-sanitizer); then
    step memcheck "$sanitizer" --tool memcheck --error-exitcode 1 ./benches gpu-suite --cases 4
    for example in vector-sum reduction tile-product reaction; do
        for tool in memcheck racecheck; do
            step "$tool" "$sanitizer" --tool "$tool" --error-exitcode 1 "./$example"
        done
    done
    for tool in memcheck racecheck; do
        step "$tool" "$sanitizer" --tool "$tool" --error-exitcode 1 ./warpgroup-product 512
    done
    # Every family that the suite lacks.
    for run in "star1d2r --size 5003 --boundary reflect" "box2d7r --size 101x577" \
        "box3d1r --size 12x31x133 --boundary periodic"; do
        for engine in sparse cuda; do
            # shellcheck disable=SC2086
            step "memcheck" "$sanitizer" --tool memcheck --error-exitcode 1 \
                ./host run --stencil $run --steps 3 --engine "$engine"
        done
    done
    for run in "box2d3r --size 333x1001 --steps 3 --fuse 1 --chain 1" \
        "box2d1r --size 150 --steps 24 --fuse 3 --chain 4 --boundary x:periodic,y:reflect" \
        "star3d1r --size 20x40x150 --steps 6 --fuse 1 --chain 3" \
        "star2d1r --size 200 --steps 8 --fuse 1 --chain 1 --dtype tf32"; do
        # shellcheck disable=SC2086
        step racecheck "$sanitizer" --tool racecheck --error-exitcode 1 \
            ./host run --stencil $run --engine sparse
    done
else
    echo "no compute-sanitizer here (it comes with the CUDA toolkit): memcheck and racecheck are left out"
fi

for stencil in star2d1r star2d2r star2d3r box2d1r box2d2r box2d3r; do
    step "$stencil" ./host run --stencil "$stencil" --size 10240 --engine sparse
done
((has_sm_80)) && step "box2d3r on sm_80" env HOST_CHIP=sm_80 ./host run --stencil box2d3r --size 10240 --engine sparse
for size in 1x1 7x5 333x1001 10239x10241; do
    step "$size" ./host run --stencil box2d3r --size "$size" --steps 3 --engine sparse
done
for dtype in f16 bf16 tf32 f32 f64; do
    for boundary in zero periodic x:reflect,y-:constant=0.5; do
        step "$dtype, $boundary" ./host run --stencil box2d1r --size 333x1001 --steps 25 \
            --dtype "$dtype" --boundary "$boundary" --verify full
    done
done
step "1D" ./host run --stencil star1d2r --size 100003 --steps 30 --boundary reflect
step "3D" ./host run --stencil star3d1r --size 70x91x133 --steps 7 --boundary reflect
step "sweeps" ./benches gpu-sweep
step "chains" ./benches gpu-chain
step "sweep in 1D" ./benches gpu-rows --points 268435456 --radius 1 --threads 512 --blocks 64
step "sweeps of many rows" ./benches gpu-rows --radius 4,5,6,7 --stages 6
step "sweeps in 3D" ./benches gpu-sweep3d --stages 4
step "gathers" ./benches gpu-gather
step "f32 by pieces" ./benches gpu-split
step "a user's function" ./reaction --bench

((failed == 0)) && echo "all is right" || echo "FAILED"
exit "$failed"
