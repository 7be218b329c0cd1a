using System.Text;
using Kv.Lua;

namespace Kv.Server.Scripting;

/// <summary>Errors that functions of <c>redis</c> end with: each is the whole text of a reply, where one of the script
/// itself gets a code, and that of a command has been counted already.</summary>
/// <remarks>Threads: the one that runs the machine.</remarks>
internal sealed class RaisedErrors(LuaMachine machine)
{
    private static readonly LuaString Ignore = LuaString.Name("ignore_error_stats_update");

    private LuaString? _last;
    private bool _isLastCounted;

    /// <summary>Another script begins.</summary>
    public void Clear() => _last = null;

    /// <summary>Ends a function with an error.</summary>
    public int Raise(ref LuaCall call, string error) => Raise(ref call, new LuaString(error), isCounted: false);

    /// <summary>Ends redis.call with the error that a command has answered.</summary>
    public int RaiseReply(ref LuaCall call, LuaString error) => Raise(ref call, error, isCounted: true);

    /// <summary>Ends redis.pcall with the error that a command has answered.</summary>
    public int ReturnReply(ref LuaCall call, LuaString error)
    {
        var table = NewTable(error);
        table[Ignore] = true;
        return call.Return(table);
    }

    /// <summary>A table that is an error as a reply.</summary>
    public LuaTable NewTable(ReadOnlySpan<byte> text) => NewTable(machine.NewString(text));

    /// <inheritdoc cref="NewTable(ReadOnlySpan{byte})"/>
    public LuaTable NewTable(string text) => NewTable(Encoding.UTF8.GetBytes(text));

    /// <summary>Whether a value is the error of a command that the script has called, and that counted it.</summary>
    public bool IsCounted(in LuaValue value) =>
        value.AsTable is { } table ? table[ReplyFields.Err].IsString && table[Ignore].IsTrue
            : _isLastCounted && value.AsString is { } text && ReferenceEquals(text, _last);

    /// <summary>The reply for the error that a machine has ended with.</summary>
    public byte[] MessageOf(in LuaValue error) =>
        error.AsTable is { } table && table[ReplyFields.Err].AsString is { } told ? told.Span.ToArray()
            : error.AsString is { } raised && ReferenceEquals(raised, _last) ? raised.Span.ToArray()
            : [.. "ERR "u8, .. error.AsString is { } message ? message.Span
                : Encoding.Latin1.GetBytes(error.ToString())];

    private int Raise(ref LuaCall call, LuaString error, bool isCounted)
    {
        (_last, _isLastCounted) = (error, isCounted);
        return call.Error(error);
    }

    private LuaTable NewTable(LuaString text)
    {
        var table = machine.NewTable(0, 1);
        table[ReplyFields.Err] = text;
        return table;
    }
}
