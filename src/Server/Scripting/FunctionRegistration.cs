using Kv.Lua;

namespace Kv.Server.Scripting;

/// <summary>What <c>redis.register_function</c> was given.</summary>
internal readonly record struct FunctionRegistration(
    LuaString Name, LuaFunction Body, LuaString? Description, ScriptFlags Flags)
{
    public const string BadName = "Library names can only contain letters, numbers, or underscores(_) and must be at "
        + "least one character long";

    /// <summary>Reads the arguments: a name and a function, or a table of named ones.</summary>
    /// <returns>What is wrong with them; null: nothing.</returns>
    public static string? Read(ref LuaCall call, out FunctionRegistration found)
    {
        found = default;
        if (call.Count is < 1 or > 2) return "ERR wrong number of arguments to redis.register_function";
        LuaString? name, description = null;
        LuaFunction? body;
        var flags = ScriptFlags.None;
        if (call.Count == 2)
        {
            (name, body) = (call[0].ToText(), call[1].AsFunction);
            if (name == null) return "ERR first argument to redis.register_function must be a string";
            if (body == null) return "ERR second argument to redis.register_function must be a function";
        }
        else
        {
            if (call[0].AsTable is not { } table)
            {
                return "ERR calling redis.register_function with a single argument is only applicable to Lua table "
                    + "(representing named arguments).";
            }

            if (ReadNamed(table, out name, out body, out description, out flags) is { } error) return error;
            if (name == null) return "ERR redis.register_function must get a function name argument";
            if (body == null) return "ERR redis.register_function must get a callback argument";
        }

        if (!IsName(name.Span)) return $"ERR {BadName}";
        // Copies: the library outlives the run that these are strings of.
        if (description != null) description = new LuaString(description.Span);
        found = new FunctionRegistration(new LuaString(name.Span), body, description, flags);
        return null;
    }

    /// <summary>Whether a library or function may be called like that.</summary>
    public static bool IsName(ReadOnlySpan<byte> name)
    {
        foreach (byte letter in name)
            if (!char.IsAsciiLetterOrDigit((char)letter) && letter != '_') return false;
        return !name.IsEmpty;
    }

    private static string? ReadNamed(LuaTable table, out LuaString? name, out LuaFunction? body,
        out LuaString? description, out ScriptFlags flags)
    {
        (name, body, description, flags) = (null, null, null, ScriptFlags.None);
        for (int place = 0; table.TryVisit(ref place, out var key, out var value);)
        {
            // In any case, as there; and so are the flags.
            switch (key.AsString?.ToString().ToLowerInvariant())
            {
                case "function_name":
                    name = value.ToText();
                    if (name == null)
                        return "ERR function_name argument given to redis.register_function must be a string";
                    break;
                case "description":
                    description = value.ToText();
                    if (description == null)
                        return "ERR description argument given to redis.register_function must be a string";
                    break;
                case "callback":
                    body = value.AsFunction;
                    if (body == null)
                        return "ERR callback argument given to redis.register_function must be a function";
                    break;
                case "flags":
                    if (value.AsTable is not { } list)
                    {
                        return "ERR flags argument to redis.register_function must be a table representing function "
                            + "flags";
                    }

                    if (!TryReadFlags(list, out flags)) return "ERR unknown flag given";
                    break;
                default:
                    return "ERR unknown argument given to redis.register_function";
            }
        }

        return null;
    }

    private static bool TryReadFlags(LuaTable list, out ScriptFlags flags)
    {
        flags = ScriptFlags.None;
        // Ends: the table has an end.
        for (int i = 1; !list[i].IsNil; i++)
        {
            if (list[i].AsString is not { } name
                || !Script.TryFlag(name.ToString().ToLowerInvariant(), out var flag)) return false;
            flags |= flag;
        }

        return true;
    }
}
