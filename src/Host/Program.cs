using Kv.Host;
using Kv.Server.Configuration;
using Kv.Server.Network;

if (DescriptorLimit.WhyNotStart() is { } reason)
{
    Console.Error.WriteLine(reason);
    return 1;
}

var parsed = OptionParser.Parse(args);
if (parsed.Output != null) Console.Out.Write(parsed.Output);
if (parsed.Error != null) Console.Error.WriteLine(parsed.Error);
if (!parsed.IsOk) return parsed.Error == null ? 0 : 1;
HeapLimits.Set();
return await new ServerProgram(parsed).RunAsync();
