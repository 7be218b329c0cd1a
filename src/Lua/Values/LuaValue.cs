using System.Runtime.CompilerServices;

namespace Kv.Lua;

//   0            8           16
//  +------------+------------+
//  |  reference |  number    |     reference null: the number is the value; else the object is, and the number is void
//  +------------+------------+
//
// Null means "a number", because storing null needs no write barrier of the collector: a loop over numbers has none.
// So default(LuaValue) is 0, not nil, and whoever makes an array of values fills it with nil.

/// <summary>A value of Lua: a number, or a reference to nil, a boolean, a string, a table, a function, a
/// coroutine.</summary>
/// <remarks>Threads: a value is a plain struct; strings may be shared by any number of machines, everything else is of
/// one.</remarks>
public struct LuaValue
{
    internal object? Reference;
    internal double Number;

    internal LuaValue(object reference)
    {
        Reference = reference;
        Number = 0;
    }

    public LuaValue(double number)
    {
        Reference = null;
        Number = number;
    }

    public static LuaValue Nil => new(Atom.Nil);
    public static LuaValue True => new(Atom.True);
    public static LuaValue False => new(Atom.False);

    /// <summary>The one userdata that there is: what the JSON library calls null.</summary>
    public static LuaValue Null => new(Atom.Null);

    public readonly bool IsNil => ReferenceEquals(Reference, Atom.Nil);
    public readonly bool IsNumber => Reference is null;
    public readonly bool IsString => Reference is LuaString;
    public readonly bool IsTable => Reference is LuaTable;

    /// <summary>Whether a condition takes it for true: all but nil and false.</summary>
    public readonly bool IsTrue => !ReferenceEquals(Reference, Atom.Nil) && !ReferenceEquals(Reference, Atom.False);

    public readonly LuaType Type => Reference switch
    {
        null => LuaType.Number,
        LuaString => LuaType.String,
        LuaTable => LuaType.Table,
        LuaFunction => LuaType.Function,
        Atom atom => atom.Type,
        Coroutine => LuaType.Thread,
        _ => LuaType.UserData,
    };

    /// <summary>The name of its type, as <c>type</c> gives it.</summary>
    public readonly string TypeName => NameOf(Type);

    public static implicit operator LuaValue(double number) => new(number);
    public static implicit operator LuaValue(bool value) => value ? True : False;
    public static implicit operator LuaValue(LuaString value) => new((object)value);
    public static implicit operator LuaValue(LuaTable value) => new((object)value);
    public static implicit operator LuaValue(LuaFunction value) => new((object)value);

    /// <summary>The number it is; of another type nothing that means something.</summary>
    public readonly double AsNumber => Number;

    /// <summary>The string that it is, or null.</summary>
    public readonly LuaString? AsString => Reference as LuaString;

    /// <summary>The table that it is, or null.</summary>
    public readonly LuaTable? AsTable => Reference as LuaTable;

    /// <summary>The function that it is, or null.</summary>
    public readonly LuaFunction? AsFunction => Reference as LuaFunction;

    /// <summary>Equality without metamethods.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool RawEquals(in LuaValue left, in LuaValue right)
    {
        if (left.Reference is null) return right.Reference is null && left.Number == right.Number;
        return ReferenceEquals(left.Reference, right.Reference)
            || (left.Reference is LuaString text && right.Reference is LuaString other && text.Equals(other));
    }

    /// <summary>The number that it is, or that its text says.</summary>
    public readonly bool TryToNumber(out double number)
    {
        number = Number;
        if (Reference is null) return true;
        return Reference is LuaString text && NumberSyntax.TryParse(text.Span, out number);
    }

    /// <summary>The string that it is, or the text of its number; null for others.</summary>
    public readonly LuaString? ToText() => Reference is null ? NumberSyntax.Format(Number) : Reference as LuaString;

    internal static string NameOf(LuaType type) => type switch
    {
        LuaType.Nil => "nil",
        LuaType.Boolean => "boolean",
        LuaType.Number => "number",
        LuaType.String => "string",
        LuaType.Table => "table",
        LuaType.Function => "function",
        LuaType.Thread => "thread",
        _ => "userdata",
    };

    public override readonly string ToString() => Reference switch
    {
        null => NumberSyntax.Format(Number).ToString(),
        _ => Reference.ToString() ?? "",
    };
}
