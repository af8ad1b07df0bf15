"""The report generator's addresses: who is logged in stands in them, for want of users."""

from django.urls import path

from reports import views

urlpatterns = [
    path("<customer>/", views.listed, name="listed"),
    path("<customer>/reports", views.order),
    path("<customer>/reports/<int:report>", views.read),
    path("<customer>/reports/<int:report>/cancel", views.cancel),
]
