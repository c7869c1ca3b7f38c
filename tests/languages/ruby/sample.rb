# frozen_string_literal: true

require 'foo'
require_relative("../bar")
autoload :Abc, "abc"

# The module A.
module A
  # The class C.
  class B::C < D::E
    include Mod
    CONST = 1
    A1, B1 = 1, 2
    FOO ||= 3
    ABC::XYZ = 3
    self::OWN = 4
    @@cv = 1
    @@count ||= 2
    attr_reader :a, :b,
                :c
    attr_accessor(:d)
    attribute :not_defined
    alias new_name old_name
    alias :quoted? :old?
    alias $new $old
    alias_method :x=, :y
    define_method(:dm) { |q, r = 1| q }
    Foo = Struct.new(:a, :b) do
      def in_struct; end
    end
    Bar = Class.new(Base) { def z; end }
    Mix = Module.new
    Other::Made = Data.define(:u)
    NOT_MADE = Foo.create(1)

    # Does it.
    private def priv(a, b = 1, *c, d:, e: 2, **f, &g)
      x = 1 if a && b or c
      @iv = 2; @@cv += 3; $g = 4; @iv ||= 5
      a, (b, c), *d = 1, 2
      foo.bar = 2; foo[1] = 3
      case a when 1 then 2 else 3 end
      case a
      in {name: String => n} if n then 1
      in [Integer, *rest] then 2
      end
      foo&.bar(1, k: v) { |q, (r, s), *t, u: 1, **w| q }
      Foo::Bar.baz; Foo(); super(1); yield 1
      -> (l1, l2 = 3) { l1 }
      begin; rescue Foo, Bar::Baz => e; retry; end
      while a; until b; end; end; for i in 1..2 do end
      unless a then b end; a ? b : c; a while b; a until b; a unless b
      if a then b elsif c then d end
      x rescue y
      "hidden #{b} hidden" ; %w(hidden hidden); /hidden#{g}/ # hidden
      <<~EOS
        hidden #{h}
      EOS
      validate :checked?, with: :symbol, map: list.map(&:to_s)
    end
    def self.cm; end
    def obj.sm(a) = 1
    def C.constant_owner; end
    def ==(o); end
    def self.[](k); end
    def setter=(v); end
    def self.setter=(v); end
    class << self
      def eigen; end
    end
  end
  class ::Top < Base; end
  class Plain; end
end
module Deep::Mod
  module Inner; end
end
def top(a); end
x = 1
__END__
hidden
