# SPDX-License-Identifier: MIT OR Apache-2.0
"""`stencil.torch.run`: gradients beside difference quotients and beside those of torch through loops."""

import doctest

import numpy as np
import pytest
import stencil

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

RANDOM = np.random.default_rng(7)


def drawn(*shape, low=0.0, high=1.0):
    return torch.tensor(low + (high - low) * RANDOM.random(shape), dtype=torch.float64, requires_grad=True)


WAVES = {
    "grid": {"size": [5, 6], "dtype": "f64"},
    "time": {"dt": 0.4},
    "constants": {"damping": 0.1},
    "stencils": {"laplace": {"derivative": "laplace", "order": 2}},
    "fields": {
        "p": {"start": 0, "boundary": "y:reflect,x-:odd", "next": "2*p - prev(p) + (c*dt)^2*laplace(p) - dt*damping*p^3"},
    },
    "coefficients": {"c": 1},
    "sources": [{"field": "p", "at": [1, 2.5]}, {"field": "p", "at": [3, 4]}],
    "receivers": [{"field": "p", "at": [2, 4]}, {"field": "p", "at": [3.5, 1]}],
}


def test_the_gradients_of_a_run_are_those_of_difference_quotients():
    steps = 4

    def outputs(p, c, damping, wavelets):
        after = stencil.torch.run(
            WAVES, steps, fields={"p": p}, coefficients={"c": c}, parameters={"damping": damping}, sources=wavelets, engine="cpu"
        )
        return after.fields["p"], after.fields["p", 1], after.records

    inputs = (drawn(5, 6), drawn(5, 6, low=0.8), torch.tensor(0.2, dtype=torch.float64, requires_grad=True), drawn(2, steps))
    assert torch.autograd.gradcheck(outputs, inputs, fast_mode=True)
    # Each derivative by itself, of a smaller one.
    small = {**WAVES, "grid": {"size": [3, 3], "dtype": "f64"}, "sources": [{"field": "p", "at": [1, 1]}], "receivers": [{"field": "p", "at": [1, 0.5]}]}

    def few(p, before, c, wavelets):
        fields = {"p": {"start": p, "before": before}}
        after = stencil.torch.run(small, 2, fields=fields, coefficients={"c": c}, sources=wavelets, engine="cpu")
        return after.fields["p"], after.records

    assert torch.autograd.gradcheck(few, (drawn(3, 3), drawn(3, 3), drawn(3, 3, low=0.8), drawn(1, 2)))


def test_shots_are_runs_of_their_own():
    steps = 5
    c, wavelets = drawn(5, 6, low=0.8), drawn(3, 2, steps)
    weights = torch.tensor(RANDOM.random((3, steps + 1, 2)))
    several = stencil.torch.run(WAVES, steps, coefficients={"c": c}, sources=wavelets, engine="cpu")
    assert several.records.shape == (3, steps + 1, 2) and several.fields["p"].shape == (3, 5, 6)
    ((several.records * weights).sum() + several.fields["p"].square().sum()).backward()
    together = c.grad, wavelets.grad
    c.grad = wavelets.grad = None
    for shot in range(3):
        one = stencil.torch.run(WAVES, steps, coefficients={"c": c}, sources=wavelets[shot], engine="cpu")
        assert torch.equal(one.records, several.records[shot])
        assert torch.equal(one.fields["p"], several.fields["p"][shot])
        ((one.records * weights[shot]).sum() + one.fields["p"].square().sum()).backward()
    torch.testing.assert_close(together[0], c.grad, rtol=1e-13, atol=0)
    torch.testing.assert_close(together[1], wavelets.grad, rtol=1e-13, atol=0)


def shifted(u, axis, by):
    """Values beside, and beyond the grid 0."""
    pad = [0, 0] * (u.ndim - axis - 1) + ([0, by] if by > 0 else [-by, 0])
    return torch.nn.functional.pad(u, pad).narrow(axis, max(by, 0), u.shape[axis])


def off(found, wanted):
    return ((found - wanted).abs().max() / wanted.abs().max()).item()


def test_acoustic_waves_have_the_gradients_of_a_loop_in_torch():
    ny, nx, steps = 21, 25, 40
    c, wavelet, begin = drawn(ny, nx, low=0.8), drawn(1, steps), drawn(ny, nx)
    waves = {
        "grid": {"size": [ny, nx], "dtype": "f64"},
        "time": {"dt": 0.4},
        "stencils": {"laplace": {"derivative": "laplace", "order": 4}},
        "fields": {"p": {"start": 0, "next": "2*p - prev(p) + (c*dt)^2*laplace(p)"}},
        "sources": [{"field": "p", "at": [10, 7]}],
        "receivers": [{"field": "p", "at": [3, column]} for column in range(nx)],
    }
    after = stencil.torch.run(waves, steps, fields={"p": begin}, coefficients={"c": c}, sources=wavelet, engine="cpu")
    weights = torch.tensor(RANDOM.random((steps + 1, nx)))
    value = (after.records * weights).square().sum() + after.fields["p"].pow(4).sum()
    ours = torch.autograd.grad(value, (c, wavelet, begin))

    def second(p, axis):
        around = {by: shifted(p, axis, by) for by in (-2, -1, 1, 2)}
        return -5 / 2 * p + 4 / 3 * (around[-1] + around[1]) - 1 / 12 * (around[-2] + around[2])

    p, before, rows = begin, begin, [begin[3]]
    for step in range(steps):
        p, before = 2 * p - before + (0.4 * c) ** 2 * (second(p, 0) + second(p, 1)), p
        p = p + torch.zeros_like(p).index_put((torch.tensor([10]), torch.tensor([7])), wavelet[0, step])
        rows.append(p[3])
    by_loop = (torch.stack(rows) * weights).square().sum() + p.pow(4).sum()
    assert off(value.detach(), by_loop.detach()) < 1e-12
    for one, other in zip(ours, torch.autograd.grad(by_loop, (c, wavelet, begin)), strict=True):
        assert off(one, other) < 1e-10


def test_diffusion_that_is_not_linear_has_the_gradients_of_a_loop_in_torch():
    ny, nx, steps = 14, 17, 30
    k, u, rate = drawn(ny, nx, low=0.5), drawn(ny, nx), torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    diffusion = {
        "grid": {"size": [ny, nx], "dtype": "f64"},
        "time": {"dt": 0.1},
        "constants": {"rate": 0.1},
        "stencils": {
            f"{kind}{axis}": {"derivative": f"{axis}{side}", "order": 2} for axis in "xy" for kind, side in (("up", "+"), ("down", "-"))
        },
        "fields": {
            "u": {
                "start": 0,
                "next": "u + dt*(downx(k*(1 + u^2)*upx(u)) + downy(k*(1 + u^2)*upy(u)) + rate*u*(1 - u))",
            }
        },
        "coefficients": {"k": {"start": 1, "boundary": "zero"}},
    }
    given = {"fields": {"u": u}, "coefficients": {"k": k}, "parameters": {"rate": rate}}
    value = stencil.torch.run(diffusion, steps, **given, engine="cpu").fields["u"].sin().square().sum()
    ours = torch.autograd.grad(value, (u, k, rate))

    def flux(u, axis):
        return k * (1 + u**2) * (shifted(u, axis, 1) - u)

    now = u
    for _ in range(steps):
        change = rate * now * (1 - now)
        for axis in (0, 1):
            own = flux(now, axis)
            # Where k is 0 beyond the grid, so is what flows there.
            change = change + own - shifted(own, axis, -1)
        now = now + 0.1 * change
    by_loop = now.sin().square().sum()
    assert off(value.detach(), by_loop.detach()) < 1e-12
    for one, other in zip(ours, torch.autograd.grad(by_loop, (u, k, rate)), strict=True):
        assert off(one, other) < 1e-10


def test_types_are_those_of_tensors_and_numbers_stand_for_all_points():
    rod = {"fields": {"u": {"start": 1, "next": "u - rate*k*u"}}, "constants": {"rate": 0.5}, "coefficients": {"k": 1}}
    k = torch.tensor(0.5, requires_grad=True)
    u = torch.ones(6, dtype=torch.bfloat16, requires_grad=True)
    after = stencil.torch.run(rod, 1, fields={"u": u}, coefficients={"k": k}, size=6, engine="cpu")
    assert after.fields["u"].dtype == torch.float32 and after.records.shape == (2, 0)
    after.fields["u"].sum().backward()
    assert k.grad.item() == -3 and u.grad.dtype == torch.bfloat16 and u.grad.tolist() == [0.75] * 6
    half = stencil.torch.run(rod, 1, fields={"u": u.detach()}, engine="cpu").fields["u"]
    assert half.dtype == torch.bfloat16 and not half.requires_grad


def test_mistakes_are_told():
    rod = {"fields": {"u": {"start": 1, "next": "u - rate*u"}}, "constants": {"rate": 0.5}}
    with pytest.raises(stencil.InputError, match=r"shape \(6,\) is no number"):
        stencil.torch.run(rod, 1, size=6, parameters={"rate": torch.ones(6)})
    with pytest.raises(stencil.InputError, match="2 rows of numbers are given for 0 sources"):
        stencil.torch.run(rod, 1, size=6, sources=torch.ones(2, 1))
    inside = {"fields": {"u": {"start": torch.ones(6, requires_grad=True), "next": "u"}}}
    with pytest.raises(stencil.InputError, match=r"\['fields'\]\['u'\]\['start'\] is a tensor that requires a gradient"):
        stencil.torch.run(inside, 1)
    sides = {**rod, "fields": {"u": {"start": 1, "boundary": "constant=rate", "next": "u"}}}
    after = stencil.torch.run(sides, 1, size=6, parameters={"rate": torch.tensor(0.5, requires_grad=True)}, engine="cpu")
    with pytest.raises(stencil.InputError, match="rate"):
        after.fields["u"].sum().backward()


def test_the_example_in_the_docstring_is_right():
    tried = doctest.testmod(stencil.torch)
    assert tried.attempted and not tried.failed


def test_states_are_kept_where_it_is_asked(tmp_path):
    rod = {
        "time": {"dt": 0.1},
        "stencils": {"laplace": {"derivative": "laplace", "order": 2}},
        "fields": {"u": {"start": 0, "boundary": "edge", "next": "u + dt*k*laplace(u) - dt*u^3"}},
    }

    def gradient(**kept):
        k = torch.linspace(0.5, 1, 9, dtype=torch.float64).requires_grad_()
        u = torch.linspace(0, 1, 9, dtype=torch.float64)
        stencil.torch.run(rod, 12, fields={"u": u}, coefficients={"k": k}, engine="cpu", **kept).fields["u"].square().sum().backward()
        return k.grad

    usual = gradient()
    assert torch.equal(gradient(keep_in=tmp_path), usual) and not list(tmp_path.iterdir())
    rounded = gradient(keep_as="f16")
    assert 0 < (rounded - usual).abs().max() < 0.01 * usual.abs().max()
    with pytest.raises(stencil.InputError):
        gradient(keep_in=tmp_path / "nowhere")


def test_earlier_values_of_their_own_are_apart_from_the_start():
    waves = {"time": {"dt": 1.0}, "grid": {"size": [4], "dtype": "f64"}, "fields": {"u": {"start": 0, "next": "2*u - prev(u)"}}}
    own = {**waves, "fields": {"u": {**waves["fields"]["u"], "before": 0}}}
    for description, slope in [(waves, 1.0), (own, 2.0)]:
        for given in (lambda u: u, lambda u: {"start": u}):
            u = torch.ones(4, dtype=torch.float64, requires_grad=True)
            stencil.torch.run(description, 1, fields={"u": given(u)}, engine="cpu").fields["u"].sum().backward()
            assert torch.equal(u.grad, torch.full_like(u, slope))


@pytest.mark.parametrize("columns", [1, 3, 4, 6])
def test_what_sources_add_may_have_any_number_of_columns(columns):
    def outputs(wavelets):
        return stencil.torch.run(WAVES, 4, sources=wavelets, engine="cpu").records

    assert torch.autograd.gradcheck(outputs, (drawn(2, columns),), fast_mode=True)


def test_gradients_that_would_be_lost_are_refused():
    with pytest.raises(stencil.InputError, match="dt is a tensor that requires a gradient"):
        stencil.torch.run(WAVES, 1, sources=np.zeros((2, 1)), dt=torch.tensor(0.1, requires_grad=True))
