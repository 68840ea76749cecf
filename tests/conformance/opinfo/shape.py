"""Shape and storage."""
from opinfo import offer


@offer("permute")
def permute(iso, input, dims):
    return iso.permute(input, dims)


@offer("stack")
def stack(iso, tensors, dim=0):
    return iso.stack(tensors, dim)
