"""Reads Zarr and kerchunk reference sets at the speed of the machine."""
