"""A contract of the tests' own, built at run time: the gateway must serve it without knowing it (issue 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from google.api import annotations_pb2  # pyright: ignore[reportMissingTypeStubs]
from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2, text_format
from google.protobuf.descriptor import ServiceDescriptor
from hyperkitty.options.v1 import options_pb2

_MESSAGES = """
name: "widgets/v1/widgets.proto"
package: "%(package)s"
syntax: "proto3"
dependency: "google/protobuf/struct.proto"
message_type {
  name: "Widget"
  field { name: "widget_id" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "size" number: 2 type: TYPE_INT64 label: LABEL_OPTIONAL }
  field { name: "tags" number: 3 type: TYPE_STRING label: LABEL_REPEATED }
  field { name: "facts" number: 4 type: TYPE_MESSAGE type_name: ".google.protobuf.Struct" label: LABEL_OPTIONAL }
}
message_type {
  name: "ShapeWidgetRequest"
  field { name: "widget" number: 1 type: TYPE_MESSAGE type_name: ".%(package)s.Widget" label: LABEL_OPTIONAL }
  field { name: "shelf" number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "dry_run" number: 3 type: TYPE_BOOL label: LABEL_OPTIONAL }
}
message_type {
  name: "ShapeWidgetResponse"
  field { name: "widget" number: 1 type: TYPE_MESSAGE type_name: ".%(package)s.Widget" label: LABEL_OPTIONAL }
}
message_type {
  name: "FindWidgetsRequest"
  field { name: "tags" number: 1 type: TYPE_STRING label: LABEL_REPEATED }
  field { name: "ratio" number: 2 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "exact" number: 3 type: TYPE_BOOL label: LABEL_OPTIONAL }
  field { name: "token" number: 4 type: TYPE_BYTES label: LABEL_OPTIONAL }
}
message_type {
  name: "FindWidgetsResponse"
  field { name: "widgets" number: 1 type: TYPE_MESSAGE type_name: ".%(package)s.Widget" label: LABEL_REPEATED }
  field { name: "next_page_token" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
}
service {
  name: "WidgetService"
  method {
    name: "ShapeWidget" input_type: ".%(package)s.ShapeWidgetRequest" output_type: ".%(package)s.ShapeWidgetResponse"
  }
  method {
    name: "FindWidgets" input_type: ".%(package)s.FindWidgetsRequest" output_type: ".%(package)s.FindWidgetsResponse"
  }
  method {
    name: "PourWidgets" input_type: ".%(package)s.FindWidgetsRequest" output_type: ".%(package)s.FindWidgetsResponse"
    server_streaming: true
  }
}
"""

_BINDINGS = {
    "ShapeWidget": 'post: "/widgets/shelves/{shelf}/{widget.widget_id}/shape" body: "widget" response_body: "widget"',
    "FindWidgets": 'get: "/widgets" additional_bindings { get: "/old/widgets" response_body: "widgets" }',
    "PourWidgets": 'get: "/widgets/pour"',
}


def widget_service(bindings: Mapping[str, str] | None = None, *, in_default_pool: bool = False) -> ServiceDescriptor:
    """The service. `bindings`: http rules in text format that replace the usual ones.

    Servers of kit look their services up in the default pool; everybody else takes a pool of its own.
    """
    package = "hyperkitty.widgets.v1"
    default = descriptor_pool.Default()
    if in_default_pool and _is_in(default, package):
        return default.FindServiceByName(f"{package}.WidgetService")
    file = text_format.Parse(_MESSAGES % {"package": package}, descriptor_pb2.FileDescriptorProto())
    for method in file.service[0].method:
        options = method.options.Extensions[options_pb2.method]
        options.scope = options_pb2.SCOPE_SERVICE
        options.operation = method.name == "ShapeWidget"
        rule = method.options.Extensions[cast("Any", annotations_pb2).http]
        text_format.Parse({**_BINDINGS, **(bindings or {})}[method.name], rule)
    pool = default if in_default_pool else descriptor_pool.DescriptorPool()
    if not in_default_pool:
        pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return pool.FindServiceByName(f"{package}.WidgetService")


def _is_in(pool: descriptor_pool.DescriptorPool, package: str) -> bool:
    try:
        pool.FindServiceByName(f"{package}.WidgetService")
    except KeyError:
        return False
    return True
