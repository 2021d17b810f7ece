"""An expansion job on a Ray cluster, from its address to the finished store."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any, Literal

from sira.expand.config import ExpandConfig
from sira.expand.distributed import run_distributed
from sira.expand.job import ShardResult
from sira.expand.ray_cluster import OpenModel, Pool, RayCluster, ray_module
from sira.llm import open_generator

Engine = Literal["auto", "generator", "ray.data.llm"]
"""`generator` puts sira's own backends into actors, `ray.data.llm` is Ray's vLLM stage; `auto` takes it for vllm."""


def expand_on_ray(
    config: ExpandConfig,
    out: Path,
    pool: Pool,
    *,
    address: str | None = None,
    engine: Engine = "auto",
    open_model: OpenModel = open_generator,
    stall_seconds: float = 3600.0,
    **options: Any,
) -> list[ShardResult]:
    """Do what is missing of the store `out` on the cluster at `address` (RAY_ADDRESS, or else one made here).

    A Ray that is initialised already is used and left running. No row in `stall_seconds` ends the job, which it would
    otherwise wait for resources that nobody brings. `options` and what is raised: see `run_distributed`.
    """
    ray = ray_module()
    ours = not ray.is_initialized()

    def open_cluster() -> RayCluster:
        if ours:
            _initialise(ray, address or os.environ.get("RAY_ADDRESS") or "local")
        kind = RayCluster
        if engine == "ray.data.llm" or (engine == "auto" and config.model.backend == "vllm"):
            from sira.expand.ray_llm import RayLLMCluster

            kind = RayLLMCluster
        return kind(config, pool, open_model, stall_seconds=stall_seconds)

    try:
        return run_distributed(config, out, open_cluster, **options)
    finally:
        if ours:
            ray.shutdown()


def _initialise(ray: Any, address: str) -> None:
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    more = {"include_dashboard": False} if address == "local" else {}
    ray.init(address=address, log_to_driver=False, logging_level="WARNING", **more)
