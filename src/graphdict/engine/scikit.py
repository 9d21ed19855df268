"""The base classes of scikit-learn, with the types that scikit-learn does not give them.

To a type checker a class that derives from one without types may have any attribute, so that it
would find no mistake in the use of a model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphdict.core.annotations import Floats

__all__ = ["BaseEstimator", "ClassNamePrefixFeaturesOutMixin", "TransformerMixin", "available_if"]

Method = TypeVar("Method", bound=Callable[..., Any])

if TYPE_CHECKING:  # pragma: no cover

    class BaseEstimator:
        """:class:`sklearn.base.BaseEstimator`."""

        n_features_in_: int
        feature_names_in_: NDArray[np.object_]

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def _validate_params(self) -> None: ...
        def __sklearn_tags__(self) -> Any: ...
        @property
        def _repr_html_(self) -> Callable[[], str]: ...
        def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...

    class TransformerMixin:
        """:class:`sklearn.base.TransformerMixin`."""

        def __init_subclass__(
            cls, auto_wrap_output_keys: tuple[str, ...] | None = ("transform",), **kwargs: Any
        ) -> None: ...
        def fit_transform(self, X: Any, y: Any = None) -> Floats: ...
        def set_output(
            self, *, transform: Literal["default", "pandas", "polars"] | None = None
        ) -> Self: ...

    class ClassNamePrefixFeaturesOutMixin:
        """:class:`sklearn.base.ClassNamePrefixFeaturesOutMixin`."""

        _n_features_out: int

        def get_feature_names_out(
            self, input_features: ArrayLike | None = None
        ) -> NDArray[np.object_]: ...

else:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return a decorator for methods that are there only where ``check(model)`` holds.

    As scikit-learn's, but for the ``AttributeError``: where the check raises, it says why.
    """

    def decorate(method: Method) -> Method:
        return _AvailableIf(method, check)  # type: ignore[return-value]

    return decorate


class _AvailableIf:
    """A method that some models do not have."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], bool]):
        self.method, self.check = method, check
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self.method
        reason = None
        try:
            if self.check(model):
                return MethodType(self.method, model)
        except ValueError as error:
            reason = error
        lacks = f"this {owner.__name__} has no {self.method.__name__}"
        raise AttributeError(lacks if reason is None else f"{lacks}: {reason}") from reason
