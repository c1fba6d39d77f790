from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

CAPTURE_CLOCK_ARRIVAL: CaptureClock
CAPTURE_CLOCK_MEDIA: CaptureClock
CAPTURE_CLOCK_SENDER_REPORT: CaptureClock
CAPTURE_CLOCK_UNSPECIFIED: CaptureClock
DESCRIPTOR: _descriptor.FileDescriptor
DIRECTION_A_TO_B: Direction
DIRECTION_B_TO_A: Direction
DIRECTION_UNSPECIFIED: Direction
EVENT_KIND_ANNOTATION_ACCEPTED: EventKind
EVENT_KIND_ANNOTATION_REJECTED: EventKind
EVENT_KIND_CAMERA_DOWN: EventKind
EVENT_KIND_CAMERA_MOVED: EventKind
EVENT_KIND_CAMERA_UP: EventKind
EVENT_KIND_CHECKPOINT_REFUSED: EventKind
EVENT_KIND_LINE_CROSSED: EventKind
EVENT_KIND_OBJECT_APPEARED: EventKind
EVENT_KIND_OBJECT_BACK: EventKind
EVENT_KIND_OBJECT_ENTERED: EventKind
EVENT_KIND_OBJECT_LEFT: EventKind
EVENT_KIND_OBJECT_LOST: EventKind
EVENT_KIND_OBJECT_NOT_FOLLOWED: EventKind
EVENT_KIND_OBJECT_OCCLUDED: EventKind
EVENT_KIND_OBJECT_REMOVED: EventKind
EVENT_KIND_OBJECT_RENAMED: EventKind
EVENT_KIND_OBJECT_STAYED: EventKind
EVENT_KIND_RULE: EventKind
EVENT_KIND_UNSPECIFIED: EventKind
STATE_LOST: State
STATE_OCCLUDED: State
STATE_UNSPECIFIED: State
STATE_VISIBLE: State

class Annotated(_message.Message):
    __slots__ = ["camera", "masks_sequence", "objects", "pending", "sequence", "site", "warnings"]
    CAMERA_FIELD_NUMBER: _ClassVar[int]
    MASKS_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    camera: str
    masks_sequence: int
    objects: _containers.RepeatedCompositeFieldContainer[Object]
    pending: bool
    sequence: int
    site: str
    warnings: _containers.RepeatedCompositeFieldContainer[Warning]
    def __init__(self, site: _Optional[str] = ..., camera: _Optional[str] = ..., sequence: _Optional[int] = ..., masks_sequence: _Optional[int] = ..., objects: _Optional[_Iterable[_Union[Object, _Mapping]]] = ..., warnings: _Optional[_Iterable[_Union[Warning, _Mapping]]] = ..., pending: bool = ...) -> None: ...

class Box(_message.Message):
    __slots__ = ["height", "width", "x", "y"]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    height: int
    width: int
    x: int
    y: int
    def __init__(self, x: _Optional[int] = ..., y: _Optional[int] = ..., width: _Optional[int] = ..., height: _Optional[int] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ["box", "camera", "capture_time", "direction", "epoch", "extent", "height", "kind", "lease", "line", "message", "object_class", "object_id", "object_label", "rule", "score", "sequence", "site", "stay_seconds", "thumbnail", "time", "width", "zone"]
    BOX_FIELD_NUMBER: _ClassVar[int]
    CAMERA_FIELD_NUMBER: _ClassVar[int]
    CAPTURE_TIME_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    EXTENT_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_CLASS_FIELD_NUMBER: _ClassVar[int]
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    OBJECT_LABEL_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    STAY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    THUMBNAIL_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    box: Box
    camera: str
    capture_time: _timestamp_pb2.Timestamp
    direction: Direction
    epoch: int
    extent: Box
    height: int
    kind: EventKind
    lease: int
    line: str
    message: str
    object_class: str
    object_id: int
    object_label: str
    rule: str
    score: float
    sequence: int
    site: str
    stay_seconds: float
    thumbnail: str
    time: _timestamp_pb2.Timestamp
    width: int
    zone: str
    def __init__(self, site: _Optional[str] = ..., camera: _Optional[str] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., kind: _Optional[_Union[EventKind, str]] = ..., object_id: _Optional[int] = ..., object_label: _Optional[str] = ..., message: _Optional[str] = ..., sequence: _Optional[int] = ..., zone: _Optional[str] = ..., stay_seconds: _Optional[float] = ..., line: _Optional[str] = ..., direction: _Optional[_Union[Direction, str]] = ..., epoch: _Optional[int] = ..., lease: _Optional[int] = ..., extent: _Optional[_Union[Box, _Mapping]] = ..., object_class: _Optional[str] = ..., box: _Optional[_Union[Box, _Mapping]] = ..., score: _Optional[float] = ..., capture_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., thumbnail: _Optional[str] = ..., rule: _Optional[str] = ...) -> None: ...

class LineStatus(_message.Message):
    __slots__ = ["a_to_b", "b_to_a", "name"]
    A_TO_B_FIELD_NUMBER: _ClassVar[int]
    B_TO_A_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    a_to_b: int
    b_to_a: int
    name: str
    def __init__(self, name: _Optional[str] = ..., a_to_b: _Optional[int] = ..., b_to_a: _Optional[int] = ...) -> None: ...

class MaskFrame(_message.Message):
    __slots__ = ["camera", "capture_clock", "capture_time", "epoch", "height", "lease", "objects", "pixel_aspect", "pts_ns", "publish_time", "regions_of_interest", "sequence", "site", "width"]
    CAMERA_FIELD_NUMBER: _ClassVar[int]
    CAPTURE_CLOCK_FIELD_NUMBER: _ClassVar[int]
    CAPTURE_TIME_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    PIXEL_ASPECT_FIELD_NUMBER: _ClassVar[int]
    PTS_NS_FIELD_NUMBER: _ClassVar[int]
    PUBLISH_TIME_FIELD_NUMBER: _ClassVar[int]
    REGIONS_OF_INTEREST_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    camera: str
    capture_clock: CaptureClock
    capture_time: _timestamp_pb2.Timestamp
    epoch: int
    height: int
    lease: int
    objects: _containers.RepeatedCompositeFieldContainer[Object]
    pixel_aspect: float
    pts_ns: int
    publish_time: _timestamp_pb2.Timestamp
    regions_of_interest: _containers.RepeatedCompositeFieldContainer[Region]
    sequence: int
    site: str
    width: int
    def __init__(self, site: _Optional[str] = ..., camera: _Optional[str] = ..., sequence: _Optional[int] = ..., pts_ns: _Optional[int] = ..., capture_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., capture_clock: _Optional[_Union[CaptureClock, str]] = ..., publish_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., objects: _Optional[_Iterable[_Union[Object, _Mapping]]] = ..., regions_of_interest: _Optional[_Iterable[_Union[Region, _Mapping]]] = ..., epoch: _Optional[int] = ..., lease: _Optional[int] = ..., pixel_aspect: _Optional[float] = ...) -> None: ...

class Object(_message.Message):
    __slots__ = ["area", "automatic", "box", "counts", "extent", "id", "label", "score", "state"]
    AREA_FIELD_NUMBER: _ClassVar[int]
    AUTOMATIC_FIELD_NUMBER: _ClassVar[int]
    BOX_FIELD_NUMBER: _ClassVar[int]
    CLASS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    EXTENT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    area: int
    automatic: bool
    box: Box
    counts: str
    extent: Box
    id: int
    label: str
    score: float
    state: State
    def __init__(self, id: _Optional[int] = ..., label: _Optional[str] = ..., state: _Optional[_Union[State, str]] = ..., box: _Optional[_Union[Box, _Mapping]] = ..., area: _Optional[int] = ..., score: _Optional[float] = ..., counts: _Optional[str] = ..., automatic: bool = ..., extent: _Optional[_Union[Box, _Mapping]] = ..., **kwargs) -> None: ...

class ObjectList(_message.Message):
    __slots__ = ["camera", "objects", "sequence", "site"]
    CAMERA_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    camera: str
    objects: _containers.RepeatedCompositeFieldContainer[Object]
    sequence: int
    site: str
    def __init__(self, site: _Optional[str] = ..., camera: _Optional[str] = ..., sequence: _Optional[int] = ..., objects: _Optional[_Iterable[_Union[Object, _Mapping]]] = ...) -> None: ...

class ObjectStatus(_message.Message):
    __slots__ = ["area", "id", "label", "state"]
    AREA_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    area: int
    id: int
    label: str
    state: State
    def __init__(self, id: _Optional[int] = ..., label: _Optional[str] = ..., state: _Optional[_Union[State, str]] = ..., area: _Optional[int] = ...) -> None: ...

class Region(_message.Message):
    __slots__ = ["box", "zoom"]
    BOX_FIELD_NUMBER: _ClassVar[int]
    ZOOM_FIELD_NUMBER: _ClassVar[int]
    box: Box
    zoom: int
    def __init__(self, box: _Optional[_Union[Box, _Mapping]] = ..., zoom: _Optional[int] = ...) -> None: ...

class Status(_message.Message):
    __slots__ = ["attempts", "box", "camera", "deinterlaced", "down_since", "dropped_before_features", "dropped_before_tracking", "epoch", "error", "fps_in", "fps_out", "frames_dropped", "frames_failed", "frames_in", "frames_published", "frames_unseen", "latency_p50_seconds", "latency_p95_seconds", "lease", "lines", "missed", "next_attempt", "objects", "reconnects", "site", "time", "up", "zones"]
    class MissedEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    BOX_FIELD_NUMBER: _ClassVar[int]
    CAMERA_FIELD_NUMBER: _ClassVar[int]
    DEINTERLACED_FIELD_NUMBER: _ClassVar[int]
    DOWN_SINCE_FIELD_NUMBER: _ClassVar[int]
    DROPPED_BEFORE_FEATURES_FIELD_NUMBER: _ClassVar[int]
    DROPPED_BEFORE_TRACKING_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    FPS_IN_FIELD_NUMBER: _ClassVar[int]
    FPS_OUT_FIELD_NUMBER: _ClassVar[int]
    FRAMES_DROPPED_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FAILED_FIELD_NUMBER: _ClassVar[int]
    FRAMES_IN_FIELD_NUMBER: _ClassVar[int]
    FRAMES_PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    FRAMES_UNSEEN_FIELD_NUMBER: _ClassVar[int]
    LATENCY_P50_SECONDS_FIELD_NUMBER: _ClassVar[int]
    LATENCY_P95_SECONDS_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    NEXT_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    RECONNECTS_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    UP_FIELD_NUMBER: _ClassVar[int]
    ZONES_FIELD_NUMBER: _ClassVar[int]
    attempts: int
    box: str
    camera: str
    deinterlaced: bool
    down_since: _timestamp_pb2.Timestamp
    dropped_before_features: int
    dropped_before_tracking: int
    epoch: int
    error: str
    fps_in: float
    fps_out: float
    frames_dropped: int
    frames_failed: int
    frames_in: int
    frames_published: int
    frames_unseen: int
    latency_p50_seconds: float
    latency_p95_seconds: float
    lease: int
    lines: _containers.RepeatedCompositeFieldContainer[LineStatus]
    missed: _containers.ScalarMap[str, int]
    next_attempt: _timestamp_pb2.Timestamp
    objects: _containers.RepeatedCompositeFieldContainer[ObjectStatus]
    reconnects: int
    site: str
    time: _timestamp_pb2.Timestamp
    up: bool
    zones: _containers.RepeatedCompositeFieldContainer[ZoneStatus]
    def __init__(self, site: _Optional[str] = ..., camera: _Optional[str] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., up: bool = ..., error: _Optional[str] = ..., down_since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., fps_in: _Optional[float] = ..., fps_out: _Optional[float] = ..., frames_in: _Optional[int] = ..., frames_dropped: _Optional[int] = ..., frames_published: _Optional[int] = ..., latency_p50_seconds: _Optional[float] = ..., latency_p95_seconds: _Optional[float] = ..., objects: _Optional[_Iterable[_Union[ObjectStatus, _Mapping]]] = ..., dropped_before_features: _Optional[int] = ..., dropped_before_tracking: _Optional[int] = ..., frames_failed: _Optional[int] = ..., missed: _Optional[_Mapping[str, int]] = ..., frames_unseen: _Optional[int] = ..., reconnects: _Optional[int] = ..., attempts: _Optional[int] = ..., next_attempt: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., zones: _Optional[_Iterable[_Union[ZoneStatus, _Mapping]]] = ..., lines: _Optional[_Iterable[_Union[LineStatus, _Mapping]]] = ..., epoch: _Optional[int] = ..., lease: _Optional[int] = ..., box: _Optional[str] = ..., deinterlaced: bool = ...) -> None: ...

class Warning(_message.Message):
    __slots__ = ["message", "object_id"]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    message: str
    object_id: int
    def __init__(self, object_id: _Optional[int] = ..., message: _Optional[str] = ...) -> None: ...

class ZoneStatus(_message.Message):
    __slots__ = ["entries", "name", "objects", "stays"]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    STAYS_FIELD_NUMBER: _ClassVar[int]
    entries: int
    name: str
    objects: int
    stays: int
    def __init__(self, name: _Optional[str] = ..., objects: _Optional[int] = ..., entries: _Optional[int] = ..., stays: _Optional[int] = ...) -> None: ...

class CaptureClock(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class EventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Direction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
