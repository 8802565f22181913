# Copyright (c) 2026 the jetson.specdec authors
# SPDX-License-Identifier: Apache-2.0
"""The plan of one host: facts and settings in, a decision with its reasons out. PRIVATE to this collection.

The checks stand in the order of what a reader wants to know first: is it a Jetson, may this family speculate, is there
a runtime, is the server ours, does the host have what the settings name, what drafts, is the workload right, does it
fit. The first check that says no ends the plan; each one that was made is in the reasons, with its numbers.
"""

from __future__ import annotations

from typing import Any, Callable

from . import checkpoint, fit, geometry, settings, slotspec
from .catalogue import Catalogue
from .checkpoint import Checkpoint
from .errors import Ended, PlanError, Unusable
from .runtime import RuntimeTable, at_least, installed_vllm, release


def decide(
    facts: dict[str, Any],
    service: dict[str, Any] | None,
    speculation: dict[str, Any],
    shipped: dict[str, Any],
    served: dict[str, Any],
    marker: dict[str, Any] | None,
    digest: Callable[[dict[str, Any]], str],
) -> dict[str, Any]:
    """The whole plan.

    ``facts`` is the probe's description of the host, ``shipped`` the catalogue files by name, ``served`` who serves
    (``by`` None with a ``code`` where that could not be found out), ``marker`` what the slot store has on record, and
    ``digest`` names a slot. Raises PlanError for settings and catalogues that can't be planned with.
    """
    if not isinstance(facts.get("is_jetson"), bool):
        raise PlanError("bad_setting", "jetson.is_jetson is missing; pass the jetson value that jetson_info returned")
    speculation = settings.normalise_speculation(speculation)
    if service is not None:
        service = settings.normalise_service(service)
    planner = _Planner(facts, service, speculation, shipped, served, marker, digest)
    return planner.run()


class _Planner:
    def __init__(
        self,
        facts: dict[str, Any],
        service: dict[str, Any] | None,
        speculation: dict[str, Any],
        shipped: dict[str, Any],
        served: dict[str, Any],
        marker: dict[str, Any] | None,
        digest: Callable[[dict[str, Any]], str],
    ) -> None:
        self.facts = facts
        self.speculation = speculation
        self.table = RuntimeTable(shipped.get("runtimes") or {})
        self.catalogue = Catalogue(shipped, speculation["catalogue"])
        self.served = served
        self.marker = marker
        self.digest = digest
        self.l4t = tuple(facts.get("l4t_parts") or ()) or release(facts.get("l4t"))
        self.rule: dict[str, Any] = {}
        self.target: Checkpoint | None = None
        self.draft: Checkpoint | None = None
        self._service = service
        self.plan = self._blank(service)

    @property
    def service(self) -> dict[str, Any]:
        if self._service is None:
            raise PlanError(
                "bad_setting",
                "service is missing: this host may speculate and nothing says what it serves; nothing was changed",
            )
        return self._service

    def run(self) -> dict[str, Any]:
        try:
            for check in (
                self._is_jetson,
                self._family,
                self._runtime_rule,
                self._server,
                self._model,
                self._runtime,
                self._pairing,
                self._draft,
                self._tokens,
                self._concurrency,
                self._headroom,
            ):
                check()
        except Ended as ended:
            self._note(ended.code, ended.text)
            self.plan.update(decision=ended.decision, code=ended.code, text=ended.text)
        else:
            self._propose()
        return self.plan

    # -- the checks, in their order ----------------------------------------------------------------------------
    def _is_jetson(self) -> None:
        if not self.facts["is_jetson"]:
            raise Ended("skip", "not_a_jetson", self.facts.get("why_not") or "this host is not a Jetson")
        self._note(
            "jetson", "this is a {}".format(self.facts.get("module_name") or self.facts.get("model") or "Jetson")
        )

    def _family(self) -> None:
        family = self.facts.get("family")
        about = self.table.families.get(family)
        if about is None:
            raise Ended(
                "skip",
                "family",
                "the family of this Jetson is not known, and only Jetson Thor and AGX Orin may speculate",
            )
        if not about["speculates"]:
            raise Ended(
                "skip",
                "family",
                "{} does not speculate, only Jetson Thor and AGX Orin do: {}".format(about["name"], about["why"]),
            )
        self._note("family", "{} may speculate, with {} tokens".format(about["name"], about["num_speculative_tokens"]))

    def _runtime_rule(self) -> None:
        name = self.table.families[self.facts["family"]]["name"]
        rule = self.table.rule(self.facts["family"], self.l4t) if self.l4t else None
        if rule is None:
            text = f"the L4T release of this {name} is not known"
            if self.l4t:
                text = "no vLLM with speculation is validated for {} on L4T {}".format(name, self.facts.get("l4t"))
            raise Ended("skip", "no_runtime_for_l4t", f"{text}; update JetPack first")
        self.rule = rule
        runtime = self.plan["runtime"]
        where = "{} on L4T {}".format(name, self.facts.get("l4t"))
        if rule["native"] == "operator_decision":
            if not self.service["runtime"].get("validated_by"):
                raise Ended(
                    "skip",
                    "no_runtime_for_l4t",
                    "for {} the rule is {} ({}); to use {} all the same, name who validated it in "
                    "service.runtime.validated_by".format(where, rule["rule"], rule["image"], runtime["path"]),
                )
            runtime["operator_decision"] = True
            runtime["text"] = "native vLLM, the operator's decision, validated by {}; the rule for {} is {}".format(
                runtime["validated_by"], where, rule["rule"]
            )
        else:
            runtime["text"] = "native vLLM, within the rule for {}: {}".format(where, rule["rule"])
        self._note("runtime_rule", runtime["text"])

    def _server(self) -> None:
        if self.served.get("by") == "foreign":
            raise Ended(
                "skip",
                "foreign_server",
                "{}; it is left alone. Adopt it, or stop and remove it, before this host can take part".format(
                    self.served["text"]
                ),
            )
        if self.served.get("by") is None:
            raise Ended("refuse", self.served["code"], self.served["text"])
        self._note("server", self.served["text"])

    def _model(self) -> None:
        model = self.service["model"]
        if not settings.is_local(model):
            self._note("model", f"{model} is named by its hub id, its files were not looked at")
            return
        try:
            self.target = checkpoint.read(model)
        except Unusable as exc:
            raise Ended("refuse", "model_missing", f"service.model: {exc}") from exc
        self._note("model", f"{model} is there, {self.target.weights_bytes / fit.GIB:.1f} GiB of weights")

    def _runtime(self) -> None:
        runtime = self.plan["runtime"]
        try:
            version = installed_vllm(runtime["path"])
        except Unusable as exc:
            raise Ended("refuse", "runtime_missing", f"service.runtime.path: {exc}") from exc
        runtime["vllm_version"] = version
        least = self.rule["min_vllm"]
        if not at_least(version, least):
            raise Ended(
                "refuse",
                "vllm_too_old",
                "service.runtime.path: {} is vLLM {}, speculation needs {} or later".format(
                    runtime["path"], version, least
                ),
            )
        self._note("runtime", "{} is vLLM {}, {} or later is needed".format(runtime["path"], version, least))

    def _pairing(self) -> None:
        model, method, draft = self.service["model"], self.speculation["method"], self.speculation["draft"]
        if draft is not None or method in ("mtp", "ngram"):
            known = draft is not None and self.catalogue.knows(model, method, draft)
            text = "{}{}, named by the inventory{}".format(
                method,
                f" with {draft}" if draft else "",
                ", as in the catalogue" if known else ": the operator's decision",
            )
        else:
            row, passed_over = self.catalogue.find(model, method, self._row_obstacle)
            if row is None:
                raise Ended("skip", "no_head", self._no_head_text(passed_over))
            method, draft = row["method"], row["model"]
            text = "{} with {}, from the {} catalogue for {}".format(method, draft, row["origin"], model)
            if row["via_base"]:
                text += ", a quantised {}".format(row["via_base"])
        self.plan.update(method=method, draft=draft)
        self._note("pairing", text)

    def _no_head_text(self, passed_over: list[str]) -> str:
        method = self.speculation["method"]
        wanted = {None: "neither a head nor a draft", "draft_model": "no draft"}.get(method, f"no {method} head")
        text = "the catalogue has {} for exactly {}".format(wanted, self.service["model"])
        if passed_over:
            text += " that can be used here ({})".format("; ".join(passed_over))
        return text + "; none is trained here, add a row to speculation.catalogue if you have one"

    def _row_obstacle(self, row: dict[str, Any]) -> str | None:
        longest = row.get("max_context")
        if longest is None or longest >= self.service["max_model_len"]:
            return None
        return self._short_context(longest)

    def _short_context(self, longest: int) -> str | None:
        version, since = self.plan["runtime"]["vllm_version"], self.table.limits["long_context_heads_from_vllm"]
        if at_least(version, since):
            return None
        return "made for {} positions, less than max_model_len {}, which vLLM {} does not draft past ({} does)".format(
            longest, self.service["max_model_len"], version, since
        )

    def _draft(self) -> None:
        draft, method = self.plan["draft"], self.plan["method"]
        if draft is None:
            return
        if not settings.is_local(draft):
            self._note("draft", f"{draft} is named by its hub id, its files were not looked at")
            return
        field = "speculation.draft" if self.speculation["draft"] else "speculation.catalogue"
        try:
            self.draft = checkpoint.read(draft)
        except Unusable as exc:
            raise Ended("refuse", "draft_missing", f"{field}: {exc}") from exc
        contradiction = geometry.mismatch(method, self.target, self.draft) if self.target else None
        if contradiction:
            raise Ended("refuse", contradiction[0], f"{field}: {contradiction[1]}")
        longest = self.draft.number("max_position_embeddings")
        if method == "eagle3" and longest is not None and longest < self.service["max_model_len"]:
            too_short = self._short_context(longest)
            if too_short:
                raise Ended("refuse", "head_context", f"{field}: {draft} is {too_short}")
        compared = "its sizes fit the target's" if self.target else "its sizes could not be compared with the target's"
        size = self.draft.weights_bytes / fit.GIB
        self._note("draft", f"{draft} is there, {size:.2f} GiB of weights, and {compared}")

    def _tokens(self) -> None:
        about = self.table.families[self.facts["family"]]
        rule, named = about["num_speculative_tokens"], self.speculation["num_speculative_tokens"]
        self.plan["num_speculative_tokens"] = named or rule
        text = "{} tokens, the rule for {}".format(rule, about["name"])
        if named and named != rule:
            text = "{} tokens, the operator's decision; the rule for {} is {}".format(named, about["name"], rule)
            if named > rule:
                text += ", and more pays only where more than 60 % of the proposed tokens are accepted"
        self._note("num_speculative_tokens", text)

    def _concurrency(self) -> None:
        declared, limit = self.speculation["concurrency"], self.table.limits["high_concurrency"]
        if declared < limit:
            self._note("concurrency", f"declared concurrency {declared} is below {limit}")
        elif self.speculation["allow_high_concurrency"]:
            self._note("concurrency", f"declared concurrency {declared} is not below {limit}, allowed by the operator")
        else:
            raise Ended(
                "skip",
                "high_concurrency",
                f"declared concurrency {declared} is not below {limit}, where batched decoding usually beats "
                "speculation; set speculation.allow_high_concurrency to measure it all the same",
            )

    def _headroom(self) -> None:
        if not isinstance(self.facts.get("mem_total_mib"), int):
            raise PlanError("bad_setting", "jetson.mem_total_mib is missing; gather memory with jetson_info")
        memory = fit.measure(
            self.facts,
            self.table,
            self.service,
            self.speculation,
            self.target,
            self.draft,
            self.plan["draft"] is not None,
            self.plan["num_speculative_tokens"],
        )
        self.plan["memory"] = memory
        obstacle = fit.obstacle(memory, self.table)
        if obstacle:
            raise Ended("skip", "headroom", obstacle)
        text = "{}, {:.1f} needed".format(fit.headroom_text(memory), memory["headroom_needed_gib"])
        if memory["spare_gib"] is not None:
            text += "; weights, caches and engine take {:.1f} of {:.1f} GiB".format(
                memory["needed_gib"], memory["candidate_budget_gib"]
            )
        self._note("headroom", text)

    # -- putting it together -----------------------------------------------------------------------------------
    def _propose(self) -> None:
        plan, memory = self.plan, self.plan["memory"]
        revision = self.draft.revision if self.draft else None
        spec = slotspec.candidate(
            plan["baseline"]["spec"],
            plan["method"],
            plan["draft"],
            plan["num_speculative_tokens"],
            memory["candidate_utilization"],
            revision,
        )
        plan["candidate"] = {"digest": self.digest(spec), "spec": spec}
        marker = self.marker or {}
        plan["already_confirmed"] = (
            marker.get("state") == "confirmed"
            and marker.get("confirmed") == plan["candidate"]["digest"]
            and marker.get("baseline") == plan["baseline"]["digest"]
        )
        text = "{}{}, {} tokens, on vLLM {}; gpu-memory-utilization {:.2f} -> {:.2f}, headroom {:.1f} GiB".format(
            plan["method"],
            " with {}".format(plan["draft"]) if plan["draft"] else "",
            plan["num_speculative_tokens"],
            plan["runtime"]["vllm_version"],
            memory["baseline_utilization"],
            memory["candidate_utilization"],
            memory["headroom_gib"],
        )
        plan.update(decision="speculate", code="speculate", text=text)

    def _note(self, code: str, text: str) -> None:
        self.plan["reasons"].append({"code": code, "text": text})

    def _blank(self, service: dict[str, Any] | None) -> dict[str, Any]:
        speculation = self.speculation
        runtime = service["runtime"] if service else {}
        baseline = slotspec.baseline(service, self._model_revision(service)) if service else None
        return {
            "decision": None,
            "code": None,
            "text": None,
            "reasons": [],
            "family": self.facts.get("family"),
            "l4t": self.facts.get("l4t"),
            "method": None,
            "draft": None,
            "num_speculative_tokens": None,
            "runtime": {
                "type": runtime.get("type"),
                "path": runtime.get("path"),
                "image": None,
                "vllm_version": None,
                "operator_decision": False,
                "validated_by": runtime.get("validated_by"),
                "text": None,
            },
            "memory": None,
            "drop_caches": self.table.needs_drop_caches(self.l4t),
            "served_by": self.served.get("by"),
            "served_text": self.served.get("text"),
            "installed": self.marker,
            "baseline": {"digest": self.digest(baseline), "spec": baseline} if baseline else None,
            "candidate": None,
            "already_confirmed": False,
            "client": slotspec.client(service) if service else None,
            "gate": dict(speculation["gate"]),
            "lease_s": speculation["lease_s"],
            "start_deadline_s": speculation["start_deadline_s"],
            "measure_deadline_s": speculation["measure_deadline_s"],
        }

    @staticmethod
    def _model_revision(service: dict[str, Any]) -> str | None:
        if not settings.is_local(service["model"]):
            return None
        try:
            return checkpoint.read(service["model"]).revision
        except Unusable:
            return None  # the check of the model says what is wrong, in its turn
