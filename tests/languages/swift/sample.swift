import Foundation
@testable import struct NIO.ByteBuffer
/// Doc of A
@available(iOS 13, *)
public final class A<T: B>: Base, P where T: Q {
    static let shared = A(), LIMIT = 1
    private(set) nonisolated(unsafe) var x: Int = 1
    /* Doc of comp */
    var comp: Int { get { let q = 1; return q } set { x = newValue } }
    lazy var z: String = { let q = 1; return "\(q) x" }()
    @Published var w = 1 { didSet { let q = 1; foo(q) } }
    let (p, qq) = (1, 2)
    init?(a: Int, b c: String = "x", _ d: Double...) throws { self.x = a }
    deinit { close() }
    func m<U>(_ a: Int, with b: inout String, _ s: isolated (any Actor)? = #isolation) async throws(E) -> Int where U: X {
        let local = 1
        @Sendable func inner() {}
        guard let s = try await a.next() else { return () }
        if let t = b, a > 1 && b || c { s(()) }
        return a ?? 2
    }
    #if os(Linux)
    class func cm() {}
    #endif
    subscript(i: Int) -> Int { get { 1 } }
    static func == (l: A, r: A) -> Bool { true }
    prefix static func ! (a: A) -> A { a }
    static func +++ (l: A, r: A) -> A { l }
    typealias TA<V> = Range<V> where V: S
    class Nested {}
}
enum E: String { case a, b = "x"; case c(Int, n: String); indirect case d(E) }
struct S { var a: Int; mutating func `default`() {} }
protocol P: AnyObject { associatedtype Item: X; var v: Int { get set }; func f(a: Int) -> Int; init(a: Int) }
extension Foo.Bar: R where T: Z { func ext() {} }
actor Act { func f() {} }
let (t1, t2) = (1, ())
@discardableResult
func top(a: Int, f: @convention(c) (Int) -> Void) -> [String: Int] {
    for i in 1...2 where i > 1 { while a {} }
    repeat {} while b
    switch x { case .a: 1
    case let .b(y): 2
    default: a ? b : c }
    do { try f() } catch {}
    x = 1; a.b = 2; x += 1; arr[1] = 2
    arr.map { $0 + 1 }.filter { x in x > 1 }
    Foo(a: 1).bar(b: 2); let c = Foo<Int>(); foo { [weak self] a in a }
    #selector(foo); #mac(x); A.self.`default`(consume a, nil as Int??, unsafe p)
}
macro mm(a: Int) = #externalMacro(module: "a", type: "b")
