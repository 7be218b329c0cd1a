using System.Text;
using Kv.Lua;

namespace Kv.Server.Scripting;

/// <summary>Errors that functions of <c>redis</c> end with: tables whose field <c>err</c> is the whole text of a reply,
/// where an error of the script itself gets a code. That of a command has been counted already.</summary>
/// <remarks>Threads: the one that runs the machine.</remarks>
internal sealed class RaisedErrors(LuaMachine machine)
{
    private static readonly LuaString Ignore = LuaString.Name("ignore_error_stats_update");

    /// <summary>Ends a function with an error.</summary>
    public int Raise(ref LuaCall call, string error) => call.Error(NewTable(error));

    /// <summary>Ends redis.call with the error that a command has answered.</summary>
    public int RaiseReply(ref LuaCall call, LuaString error) => call.Error(NewReply(error));

    /// <summary>Ends redis.pcall with the error that a command has answered.</summary>
    public int ReturnReply(ref LuaCall call, LuaString error) => call.Return(NewReply(error));

    /// <summary>The error of a command that a script may not call, which has been counted.</summary>
    public LuaTable NewRefusal(ReadOnlySpan<byte> error) => NewReply(machine.NewString(error));

    /// <summary>A table that is an error as a reply.</summary>
    public LuaTable NewTable(ReadOnlySpan<byte> text) => NewTable(machine.NewString(text));

    /// <inheritdoc cref="NewTable(ReadOnlySpan{byte})"/>
    public LuaTable NewTable(string text) => NewTable(Encoding.UTF8.GetBytes(text));

    /// <summary>Whether a value is the error of a command that the script has called, and that counted it.</summary>
    public static bool IsCounted(in LuaValue value) =>
        value.AsTable is { } table && table[ReplyFields.Err].IsString && table[Ignore].IsTrue;

    /// <summary>What pcall gives a script of an error: its text, as it was before the reference raised tables. xpcall
    /// and coroutines give the table.</summary>
    public static LuaValue Caught(LuaValue error) =>
        error.AsTable is { } table && table[ReplyFields.Err] is { IsString: true } or { IsNumber: true }
            ? table[ReplyFields.Err] : error;

    /// <summary>The reply for the error that a machine has ended with.</summary>
    public static byte[] MessageOf(in LuaValue error)
    {
        if (error.AsTable is { } table)
            return table[ReplyFields.Err].ToText() is { } told ? told.Span.ToArray() : [.. "ERR unknown error"u8];
        return [.. "ERR "u8, .. error.AsString is { } message ? message.Span
            : Encoding.Latin1.GetBytes(error.ToString())];
    }

    private LuaTable NewReply(LuaString error)
    {
        var table = NewTable(error);
        table[Ignore] = true;
        return table;
    }

    private LuaTable NewTable(LuaString text)
    {
        var table = machine.NewTable(0, 1);
        table[ReplyFields.Err] = text;
        return table;
    }
}
