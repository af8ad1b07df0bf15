"""Lists in the admin that read a bounded number of rows with one statement, and count none.

Django's own list counts its rows, and orders and filters them by whatever is asked for. Over
millions of jobs each of these takes minutes. A list here is what one statement returns, at
most a thousand rows, which are cut into pages in memory.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import InvalidPage, Paginator
from django.db import DatabaseError, models, router, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from fairlead.db import statements
from fairlead.errors import OverBacklog, caused_by

PACKAGE, ROWS_MAX = "fairlead.django", 1000
_NO_RIGHT, _NOT_KEPT = "42501", "FL004"
_NOT_THERE = ("3F000", "42P01", "42703", "42883")


# It is generic for type checkers alone.
if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


class RowsChangeList(ChangeList):
    """The list of a `RowsAdmin`."""

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> "models.QuerySet[Any]":
        """Read the rows, once; return them as a queryset for actions, by key."""
        found = super().get_queryset(request, exclude_parameters)
        if not hasattr(self, "rows"):
            filters = cast("list[admin.SimpleListFilter]", self.filter_specs)
            wanted = {str(each.parameter_name): each.value() for each in filters}
            if any("\0" in (value or "") for value in wanted.values()):
                raise IncorrectLookupParameters  # PostgreSQL takes no such text
            rows_of = cast("RowsAdmin", self.model_admin).rows
            self.rows = rows_of({**wanted, "search": self.query.strip()})
        return found.filter(pk__in=[each.pk for each in self.rows])

    def get_results(self, request: HttpRequest) -> None:
        """Cut the rows into pages; a page is no further statement."""
        del request
        self.paginator = Paginator(self.rows, self.list_per_page)
        try:
            self.result_list = self.paginator.page(self.page_num).object_list
        except InvalidPage as error:
            raise IncorrectLookupParameters from error
        self.result_count = len(self.rows)
        self.full_result_count = None
        self.show_full_result_count = False
        self.show_admin_actions = bool(self.rows)
        self.can_show_all = False
        self.multi_page = self.result_count > self.list_per_page


class RowsAdmin(ModelAdmin):
    """Pages of what is read and never written.

    What the database refuses is a message on the admin's first page, with what mends it.
    """

    statement: ClassVar[str]
    actions_on_bottom = False
    list_per_page = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()

    def rows(self, wanted: Mapping[str, str | None]) -> list[models.Model]:
        """Return the rows of a list.

        Args:
            wanted: the value of each filter by its name, and `search`.
        """
        raise NotImplementedError

    def read(self, parameters: Mapping[str, object]) -> list[models.Model]:
        """Return what the list's statement returns, at most a thousand rows."""
        text = statements.load(PACKAGE, self.statement).decode()
        given = {**parameters, "rows_max": ROWS_MAX}
        return [*self.model.objects.using(self.database).raw(text, given)]

    @property
    def database(self) -> str:
        """The alias of the database that has Fairlead's schema."""
        return router.db_for_write(self.model)

    def get_queryset(self, request: HttpRequest) -> "models.QuerySet[Any]":
        """Return all rows, which is not to be evaluated without a key."""
        del request
        found: models.QuerySet[Any] = self.model.objects.using(self.database)
        return found

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        """Return the list that reads rows."""
        del request, kwargs
        return RowsChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: "models.QuerySet[Any]", search_term: str
    ) -> "tuple[models.QuerySet[Any], bool]":
        """Leave it to `rows`."""
        del request, search_term
        return queryset, False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds anything here."""
        del request
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody changes anything here."""
        del request, obj
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody deletes anything here."""
        del request, obj
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Return the list."""
        view = super().changelist_view
        return self._or_message(request, lambda: view(request, extra_context))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Return the page of one row."""
        view = super().changeform_view
        return self._or_message(
            request, lambda: view(request, object_id, form_url, extra_context)
        )

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Return what Django's admin has noted of one row, which is nothing."""
        view = super().history_view
        return self._or_message(request, lambda: view(request, object_id, extra_context))

    def _or_message(
        self, request: HttpRequest, view: Callable[[], HttpResponse]
    ) -> HttpResponse:
        try:
            with transaction.atomic(using=self.database):
                return view()
        except DatabaseError as error:
            said = refusal(error)
            if said is None:
                raise
        messages.error(request, said)
        return HttpResponseRedirect(reverse(f"{self.admin_site.name}:index"))


class TextFilter(admin.SimpleListFilter):
    """A filter by a text that is typed: there may be any number of tenants."""

    template = "fairlead/text_filter.html"

    def lookups(self, request: HttpRequest, model_admin: object) -> tuple[()]:
        """Return none: there is no list of values."""
        del request, model_admin
        return ()

    def has_output(self) -> bool:
        """Return that it is there, whatever the database has."""
        return True

    def queryset(self, request: HttpRequest, queryset: object) -> None:
        """Leave it to `rows`."""
        del request, queryset

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield its value, and what else the list is asked for."""
        given = cast("dict[str, list[str]]", changelist.get_filters_params())
        others = [
            (name, each)
            for name, values in {**given, "q": [changelist.query]}.items()
            if name != self.parameter_name
            for each in values
            if each
        ]
        yield {"others": others, "value": self.value() or ""}


def refusal(error: DatabaseError | OverBacklog) -> str | None:
    """Return a sentence for people, if the database refused something or has no schema."""
    if isinstance(error, OverBacklog):
        return f"{error}."
    refused = caused_by(error, _NO_RIGHT)
    if refused is not None:
        return (
            f"The database refuses: {_said(refused)}. Give the login that Django uses a role "
            "of Fairlead's that may, with `fairlead roles grant`."
        )
    not_kept = caused_by(error, _NOT_KEPT)
    if not_kept is not None:
        return f"{_said(not_kept)}."
    for sqlstate in _NOT_THERE:
        absent = caused_by(error, sqlstate)
        if absent is not None:
            return f"Run `fairlead migrate` on this database: {_said(absent)}."
    return None


def _said(error: BaseException) -> str:
    said = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    return str(said).removeprefix("fairlead: ")
