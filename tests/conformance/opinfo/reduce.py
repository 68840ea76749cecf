"""Reductions, scans and sorts."""
from opinfo import offer
from opinfo.common import axes


@offer("amax")
def amax(iso, input, dim=None, keepdim=False):
    return iso.amax(input, axes(dim, input), keepdim)


@offer("amin")
def amin(iso, input, dim=None, keepdim=False):
    return iso.amin(input, axes(dim, input), keepdim)
