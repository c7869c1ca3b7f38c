//! What the file holds.
const std = @import("std");
const Allocator = @import("std").mem.Allocator;
pub const other = @import("other.zig");
const log = std.log.scoped(.sample);
pub const limit: usize = 10;
var counter: u32 = 0;
threadlocal var slot: ?*Point = null;
extern "c" fn printf(format: [*:0]const u8, ...) c_int;

/// A point.
pub const Point = packed struct(u64) {
    x: f32 = 0,
    y: std.math.Real,
    const Self = @This();
    pub fn init(x: f32, allocator: std.mem.Allocator) Self {
        return .{ .x = x, .y = allocator };
    }
    usingnamespace @import("mixin.zig");
};
const Color = enum(u8) { red, green = 2, _, pub fn next(color: Color) Color { return color; } };
const Shape = union(enum) { circle: Point, none };
const Handle = opaque {};
pub const Failure = error{ Missing, Broken };

pub fn List(comptime T: type) type {
    return struct {
        items: []T,
        pub fn push(self: *@This(), item: T) !void {
            self.items[0] = item;
            self.count += 1;
        }
    };
}

export fn run(options: struct { verbose: bool }) std.mem.Allocator.Error!void {
    const Local = struct { size: u8 };
    const value = compute(options.verbose) catch |err| return err;
    const list: List(u8) = .{ .items = undefined };
    const number: Local = 1;
    if (value > limit and value < 20) log.info("hidden {}", .{value}) else {}
    if (slot) |found| found.x = 1;
    const one = if (value == 1) 2 else 3;
    while (counter < 3) : (counter += 1) {}
    const each = for (list.items) |item| { if (item > one) break item; } else 0;
    const last = while (true) break each;
    for (list.items, 0..) |*item, i| item.* = i;
    switch (value) {
        .a => |payload| try std.testing.expect(payload orelse last),
        else => |*rest| _ = rest,
    }
    outer: while (true) { break :outer; }
    counter = number;
    _ = @as(u8, Failure.Missing);
    _ = @import("late.zig").now();
}

test "hidden" { try run(.{ .verbose = true }); }
test run {}
const Level = enum(u8) {
    /// Why it is.
    high = 1,
    // A remark.
    low,
};
const Both = Failure || error{ Late };
fn narrow() error{Missing}!void {}
const nothing = struct { fn call() void {} }.call;
